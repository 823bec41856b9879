package protocol

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

func TestAppendHTTPBodyDeltaNotification(t *testing.T) {
	t.Parallel()
	type message struct {
		Method string                     `json:"method"`
		Params *HTTPBodyDeltaNotification `json:"params"`
	}
	rapid.Check(t, func(t *rapid.T) {
		n := &HTTPBodyDeltaNotification{
			RequestID:   rapid.String().Draw(t, "requestId"),
			Seq:         rapid.Uint64().Draw(t, "seq"),
			DeltaBase64: rapid.SliceOfN(rapid.Byte(), 0, 50).Draw(t, "delta"),
			Done:        rapid.Bool().Draw(t, "done"),
			Error:       rapid.Ptr(rapid.String(), true).Draw(t, "error"),
		}
		want, err := Encode(message{NotificationHTTPBodyDelta, n})
		if err != nil {
			t.Fatal(err)
		}
		prefix := []byte("before")
		if got := AppendHTTPBodyDeltaNotification(prefix, n)[len(prefix):]; !bytes.Equal(got, want) {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}

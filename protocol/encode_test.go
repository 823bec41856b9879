package protocol

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

func TestEncodeNil(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		v    any
		want string
	}{
		{ReadResult{}, `{"chunks":[],"nextSeq":0,"exited":false,"exitCode":null,"closed":false,"failure":null,"sandboxDenied":false}`},
		{StartParams{}, `{"processId":"","argv":[],"cwd":"","envPolicy":null,"env":{},"tty":false,"arg0":null}`},
		{EnvPolicy{}, `{"inherit":"","ignoreDefaultExcludes":false,"exclude":[],"set":{},"includeOnly":[]}`},
		{ReadExtra{}, `{}`},
		{ListResult{}, `{"processes":[]}`},
		{WriteParams{}, `{"processId":"","chunk":"","writeId":""}`},
		{AirlockInfo{}, `{"version":"","features":[]}`},
		{(*Unit)(nil), `null`},
	} {
		if got, err := Encode(test.v); err != nil || string(got) != test.want {
			t.Errorf("%T: got %s (%v), want %s", test.v, got, err, test.want)
		}
		if got, err := AppendEncode([]byte("before"), test.v); err != nil || string(got) != "before"+test.want {
			t.Errorf("%T: appended %s (%v), want %s", test.v, got, err, test.want)
		}
	}
	if got, err := Encode(TerminateParams{ProcessID: "\xff"}); err == nil {
		t.Errorf("no error for a string that is not UTF-8, but %s", got)
	}
	if got, err := AppendEncode(nil, TerminateParams{ProcessID: "\xff"}); err == nil {
		t.Errorf("no error for a string that is not UTF-8, but %s", got)
	}
}

func TestAppendOutputNotification(t *testing.T) {
	t.Parallel()
	type message struct {
		Method string              `json:"method"`
		Params *OutputNotification `json:"params"`
	}
	rapid.Check(t, func(t *rapid.T) {
		n := &OutputNotification{
			ProcessID: rapid.String().Draw(t, "processId"),
			Seq:       rapid.Uint64().Draw(t, "seq"),
			Stream:    rapid.SampledFrom([]Stream{StreamStdout, StreamStderr, StreamPTY}).Draw(t, "stream"),
			Chunk:     rapid.SliceOfN(rapid.Byte(), 0, 50).Draw(t, "chunk"),
		}
		if rapid.Bool().Draw(t, "gap") {
			n.Airlock = &EventExtra{
				FirstSeq:     rapid.Uint64().Draw(t, "firstSeq"),
				DroppedBytes: map[Stream]uint64{StreamStdout: 1, StreamStderr: rapid.Uint64().Draw(t, "dropped")},
			}
		}
		want, err := Encode(message{NotificationProcessOutput, n})
		if err != nil {
			t.Fatal(err)
		}
		prefix := []byte("prefix")
		if got := AppendOutputNotification(prefix, n)[len(prefix):]; !bytes.Equal(got, want) {
			t.Fatalf("got %s, want %s", got, want)
		}
	})
}

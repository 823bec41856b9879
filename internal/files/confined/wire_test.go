package confined

import (
	"bytes"
	"testing"

	"github.com/airlock-exec/airlock/internal/limits"
)

func FuzzHead(f *testing.F) {
	f.Add(appendHead(nil, requestFrame, 7))
	f.Add(appendHead(nil, fileFrame, 0))
	f.Add(appendHead(nil, resultFrame, limits.FileAnswerBytes+1))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < headBytes {
			return
		}
		k, n, err := decodeHead([headBytes]byte(b))
		switch {
		case err != nil:
		case n < 0 || n > max(limits.FileAnswerBytes, limits.FileRequestBytes):
			t.Errorf("a frame of %d bytes", n)
		case !bytes.Equal(appendHead(nil, k, n), b[:headBytes]):
			t.Errorf("%x comes to kind %d, length %d", b, k, n)
		}
	})
}

func FuzzRequest(f *testing.F) {
	f.Add(appendRequest(nil, "fs/walk", []byte(`{}`)))
	f.Add([]byte{9, 'x'})
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		method, params, err := decodeRequest(b)
		if err == nil && !bytes.Equal(appendRequest(nil, method, params), b) {
			t.Errorf("%x comes to %q, %q", b, method, params)
		}
	})
}

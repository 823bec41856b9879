package rpc

import (
	"bytes"
	"context"
	"testing"
	"testing/synctest"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/internal/transport"
)

// largeHandler answers each request with more than a frame.
type largeHandler struct {
	*testHandler
	sent chan string
}

func (h *largeHandler) Begin(_ context.Context, r Request) Reply {
	id := string(r.Params)
	h.begun = append(h.begun, id)
	return Reply{
		Result: AppendFunc(func(dst []byte) ([]byte, error) {
			dst = append(append(dst, '"'), bytes.Repeat([]byte("x"), limits.FrameBytes)...)
			return append(dst, '"'), nil
		}),
		Sent: func() { h.sent <- id },
	}
}

// TestLargeAnswersHaveBeenWritten: whoever counts what they take can rely on Sent.
// Those that wait behind one get their turn, and all of them do at the end.
func TestLargeAnswersHaveBeenWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &largeHandler{&testHandler{}, make(chan string, 9)}
		s := newScripted()
		c := New(s, h, Config{Concurrency: 3})
		over := make(chan error, 1)
		go func() { over <- c.Serve(context.Background()) }()
		for id := range 5 {
			s.in <- request(id, "echo")
		}
		for taken := range 3 {
			synctest.Wait()
			if n := len(h.sent); n != taken {
				t.Errorf("%d are said to be sent, when %d have been taken", n, taken)
			}
			<-s.out
		}
		c.Close(transport.ErrClosed)
		<-over
		if n := len(h.sent); n != len(h.begun) {
			t.Errorf("%d of %d are said to be sent or given up", n, len(h.begun))
		}
	})
}

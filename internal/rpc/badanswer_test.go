package rpc

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/internal/transport"
)

// TestBadAnswer: a call whose answer can't be taken in fails, and nothing else does.
// What is no answer to a call is answered as any text that is no message.
func TestBadAnswer(t *testing.T) {
	tooMany := "[" + strings.Repeat("0,", limits.JSONValues) + "0]"
	for name, test := range map[string]struct {
		text string
		want error
	}{
		"too many values":  {`{"id":1,"result":` + tooMany + `}`, ErrBadAnswer},
		"id at the end":    {`{"result":` + tooMany + `,"id":1}`, ErrBadAnswer},
		"too deep":         {`{"id":1,"result":` + strings.Repeat("[", limits.JSONDepth) + strings.Repeat("]", limits.JSONDepth) + `}`, ErrBadAnswer},
		"not whole":        {`{"id":1,"result":[`, ErrBadAnswer},
		"no error":         {`{"id":1,"error":7}`, ErrBadAnswer},
		"a request":        {`{"id":1,"method":"m","params":` + tooMany + `}`, transport.ErrClosed},
		"of another call":  {`{"id":2,"result":[`, transport.ErrClosed},
		"without an id":    {`{"result":[`, transport.ErrClosed},
		"not even an id":   {`{"id":`, transport.ErrClosed},
		"an id of another": {`{"id":"1","result":[`, transport.ErrClosed},
		"no object":        {`[1]`, transport.ErrClosed},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, 1).serve()
				failed := make(chan error, 1)
				go func() {
					_, err := r.conn.Call(t.Context(), "ask", 1)
					failed <- err
				}()
				r.want(`{"id":1,"method":"ask","params":1}`)
				r.send(test.text)
				if test.want != ErrBadAnswer {
					if answer := <-r.out; !strings.HasSuffix(answer, `,"id":-1}`) {
						t.Errorf("answered with %s", answer)
					}
				}
				r.send(request(7, "echo"))
				r.want(result(7))
				_ = r.end()
				if err := <-failed; !errors.Is(err, test.want) {
					t.Errorf("got %.100s", err)
				}
			})
		})
	}
}

// TestStrict: a connection that takes nothing else ends over what is no message.
func TestStrict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1)
		r.conn.config.Strict = true
		r.serve()
		r.send(request(7, "echo"))
		r.want(result(7))
		r.send(`{"id":7`)
		if err := <-r.over; !errors.Is(err, ErrUnreadable) {
			t.Errorf("ended with %v", err)
		}
	})
}

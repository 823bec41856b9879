package rpc

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/airlock-exec/airlock/protocol"
)

// fixedAppend appends text, and fails with err.
func fixedAppend(text string, err error) AppendFunc {
	return func(dst []byte) ([]byte, error) { return append(dst, text...), err }
}

func TestAnswer(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", 1<<20)
	refusal := protocol.Errorf(protocol.CodeNotFound, "gone")
	for _, test := range []struct {
		name  string
		reply Reply
		want  string
	}{
		{"none", Reply{}, `{"id":7,"result":null}`},
		{"value", Reply{Result: map[string]int{"b": 1, "a": 2}}, `{"id":7,"result":{"a":2,"b":1}}`},
		{"large value", Reply{Result: []string{large, large}}, `{"id":7,"result":["` + large + `","` + large + `"]}`},
		{"appended", Reply{Result: fixedAppend(`{"a":1}`, nil)}, `{"id":7,"result":{"a":1}}`},
		{"large appended", Reply{Result: fixedAppend(`"`+large+`"`, nil)}, `{"id":7,"result":"` + large + `"}`},
		{"error", Reply{Err: refusal}, `{"error":{"code":-32004,"message":"gone"},"id":7}`},
		{"error before a result", Reply{Result: 1, Err: refusal}, `{"error":{"code":-32004,"message":"gone"},"id":7}`},
		{"appending fails", Reply{Result: fixedAppend(`{"a":`+large, refusal)}, `{"error":{"code":-32004,"message":"gone"},"id":7}`},
		{"appending fails with nothing", Reply{Result: AppendFunc(func([]byte) ([]byte, error) { return nil, errors.New("oh") })}, `{"error":{"code":-32603,"message":"oh"},"id":7}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			const before = "before"
			if got := string(appendAnswer([]byte(before), numberID(7), test.reply)); got != before+test.want {
				t.Errorf("got  %.200s\nwant %.200s", got, before+test.want)
			}
		})
	}
}

// What can't be encoded is the executor's mistake, and told.
func TestAnswerUnencodable(t *testing.T) {
	t.Parallel()
	got := string(appendAnswer(nil, numberID(7), Reply{Result: []string{"fine", "\xff"}}))
	if !strings.HasPrefix(got, `{"error":{"code":-32603,"message":"`) || !strings.HasSuffix(got, `},"id":7}`) {
		t.Errorf("got %s", got)
	}
}

// What large results were appended to is used again, by one that is large.
func TestLargeBuffersAreUsedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newOutgoing(newScripted())
		defer o.large.Close()
		message := append(o.largeBuffer(), make([]byte, pooledBytes+1)...)
		o.recycle(message)
		if small := o.buffer(); cap(small) > pooledBytes {
			t.Errorf("%d bytes for a small message", cap(small))
		}
		if again := o.largeBuffer(); len(again) != 0 || cap(again) != cap(message) {
			t.Errorf("got %d bytes of %d, want none of %d", len(again), cap(again), cap(message))
		}
	})
}

// The memory of large parameters is used again, and is that of one request at a time.
func TestLargeParams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1).serve()
		for id := range 20 {
			size := pooledBytes/2 + id%5*pooledBytes/4
			text := `"` + strings.Repeat(string(rune('a'+id)), size) + `"`
			r.send(fmt.Sprintf(`{"id":%d,"method":"echo","params":%s}`, id, text))
			r.send(fmt.Sprintf(`{"id":%d,"method":"park","params":%s}`, 100+id, text))
			r.want(fmt.Sprintf(`{"id":%d,"result":%s}`, id, text))
		}
		close(r.h.release)
		for range 20 {
			answer := <-r.out
			if n := strings.Count(answer, answer[len(answer)-3:len(answer)-2]); n < pooledBytes/2 {
				t.Errorf("got %.50s, of which %d characters are the same", answer, n)
			}
		}
		r.end()
	})
}

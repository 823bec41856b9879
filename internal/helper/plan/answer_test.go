package plan

import (
	"bytes"
	"strings"
	"syscall"
	"testing"
)

func TestAnswers(t *testing.T) {
	t.Parallel()
	ready := Answer{Step: Executing}
	failed := Answer{Step: Execution, Index: 3, Errno: syscall.ENOENT, Detail: "/bin/x"}
	for _, test := range []struct {
		name string
		b    []byte
		want Answer
		ok   bool
	}{
		{"nothing", nil, Answer{}, false},
		{"executing", ready.Append(nil), ready, true},
		{"executing, then failed", failed.Append(ready.Append(nil)), failed, true},
		{"cut off", failed.Append(ready.Append(nil))[:10], Answer{}, false},
		{"nonsense", []byte("nonsense"), Answer{}, false},
		{"no such step", Answer{Step: stepsEnd}.Append(nil), Answer{}, false},
		{"no step", Answer{}.Append(nil), Answer{}, false},
	} {
		if got, ok := DecodeAnswers(test.b); ok != test.ok || got != test.want {
			t.Errorf("%s: %+v, %v; want %+v, %v", test.name, got, ok, test.want, test.ok)
		}
	}
}

// A text is cut, and the whole still fits into a message.
func TestLongDetail(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 2*maxDetail)
	for _, m := range []Message{
		Answer{Step: Mounting, Detail: long},
		Denial{What: long, Path: long, Address: long},
	} {
		b := AppendMessage(nil, m)
		if len(b) > MaxMessage {
			t.Errorf("%T has %d bytes, the bound is %d", m, len(b), MaxMessage)
		}
		got, err := DecodeMessage(b)
		if err != nil {
			t.Fatal(err)
		}
		switch got := got.(type) {
		case Answer:
			if got.Detail != long[:maxDetail] {
				t.Errorf("the detail has %d bytes", len(got.Detail))
			}
		case Denial:
			if got.Path != long[:maxDetail] {
				t.Errorf("the path has %d bytes", len(got.Path))
			}
		}
	}
}

// Every step has a name for users.
func TestStepNames(t *testing.T) {
	t.Parallel()
	for step := range stepsEnd + 2 {
		named := step.String() != "unknown"
		if known := step > 0 && step < stepsEnd; named != known {
			t.Errorf("step %d is called %q", step, step)
		}
	}
}

func FuzzDecodeAnswers(f *testing.F) {
	f.Add(Answer{Step: Executing, Index: 200, Detail: "x"}.Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		a, ok := DecodeAnswers(b)
		if ok && !bytes.HasSuffix(b, a.Append(nil)) {
			t.Errorf("%q is decoded as %+v", b, a)
		}
	})
}

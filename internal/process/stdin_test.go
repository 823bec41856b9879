package process

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
)

func TestWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		_, err := r.table.Write(&protocol.WriteParams{ProcessID: "unknown"})
		wantError(t, err, protocol.CodeInvalidParams, "writeId must not be empty")
		if got := r.write("unknown", "w", ""); got != protocol.WriteUnknownProcess {
			t.Error(got)
		}
		child := r.start("p")
		for _, w := range []struct{ id, data string }{
			{"1", "one"}, {"1", "one"}, {"1", "other"}, {"2", ""}, {"3", "two"},
		} {
			if got := r.write("p", w.id, w.data); got != protocol.WriteAccepted {
				t.Errorf("write %s: %s", w.id, got)
			}
		}
		synctest.Wait()
		if got := child.read(); got != "onetwo" {
			t.Errorf("the child has read %q", got)
		}
		child.end(0)
		for _, id := range []string{"1", "late"} {
			if got := r.write("p", id, "x"); got != protocol.WriteAccepted {
				t.Errorf("write %s after the close: %s", id, got)
			}
		}
	})
}

func TestWriteWithoutStdin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		s, _ := r.table.Start(&protocol.StartParams{ProcessID: "p"})
		if _, err := s.Run(); err != nil {
			t.Fatal(err)
		}
		if got := r.write("p", "w", "x"); got != protocol.WriteStdinClosed {
			t.Error(got)
		}
		if err := r.table.CloseStdin(&protocol.CloseStdinParams{ProcessID: "p"}); err != nil {
			t.Error(err)
		}
	})
}

func TestRememberedWriteIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		child := r.start("p")
		write := func(id string) {
			w, err := r.table.Write(&protocol.WriteParams{ProcessID: "p", WriteID: id, Chunk: []byte("x")})
			if err != nil {
				t.Fatal(err)
			}
			if w.Wait != nil {
				if _, err := w.Wait(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}
		write("first")
		for i := range limits.RememberedWrites - 1 {
			write(fmt.Sprint(i))
		}
		write("first") // still remembered
		synctest.Wait()
		if got := len(child.read()); got != limits.RememberedWrites {
			t.Errorf("%d writes reached the child, want %d", got, limits.RememberedWrites)
		}
		write("one more")
		write("first") // forgotten
		synctest.Wait()
		if got := len(child.read()); got != limits.RememberedWrites+2 {
			t.Errorf("%d writes reached the child, want %d", got, limits.RememberedWrites+2)
		}
	})
}

// fill blocks the child's standard input and fills the queue.
func (r *rig) fill(id string, child *fakeChild) {
	r.Helper()
	child.mu.Lock()
	child.full = make(chan struct{})
	child.mu.Unlock()
	for i := range limits.QueuedWrites {
		r.write(id, fmt.Sprintf("fill %d", i), "-")
	}
	synctest.Wait()
}

func (r *rig) waitingWrite(id, writeID, data string) PendingWrite {
	r.Helper()
	w, err := r.table.Write(&protocol.WriteParams{ProcessID: id, WriteID: writeID, Chunk: []byte(data)})
	if err != nil || w.Wait == nil {
		r.Fatalf("write %s does not wait; error %v", writeID, err)
	}
	return w
}

func TestWritesWaitForRoomInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		child := r.start("p")
		r.fill("p", child)
		var waiting []PendingWrite
		for _, id := range []string{"a", "b", "c", "b", "d"} {
			waiting = append(waiting, r.waitingWrite("p", id, id))
		}
		// An accepted id is answered at once even while others wait.
		if got := r.write("p", "fill 0", "-"); got != protocol.WriteAccepted {
			t.Error(got)
		}
		canceled, cancel := context.WithCancelCause(t.Context())
		cancel(errors.New("gone"))
		if _, err := waiting[2].Wait(canceled); err == nil || err.Error() != "gone" {
			t.Errorf("canceled write: %v", err)
		}
		close(child.full)
		for i, w := range waiting {
			if i == 2 {
				continue
			}
			if status, err := w.Wait(t.Context()); err != nil || status != protocol.WriteAccepted {
				t.Errorf("write %d: %s, error %v", i, status, err)
			}
		}
		synctest.Wait()
		if got := strings.TrimLeft(child.read(), "-"); got != "abd" {
			t.Errorf("the child has read %q", got)
		}
	})
}

func TestWaitingWritesEnd(t *testing.T) {
	for name, test := range map[string]struct {
		end    func(r *rig, c *fakeChild)
		failed bool
	}{
		"terminated":  {func(r *rig, _ *fakeChild) { r.table.Terminate(&protocol.TerminateParams{ProcessID: "p"}) }, true},
		"table close": {func(r *rig, _ *fakeChild) { r.table.Close() }, true},
		"closed":      {func(_ *rig, c *fakeChild) { c.end(0); close(c.full) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				child := r.start("p")
				r.fill("p", child)
				w := r.waitingWrite("p", "w", "x")
				test.end(r, child)
				status, err := w.Wait(t.Context())
				if test.failed {
					wantError(t, err, protocol.CodeInternal, "failed to write to process stdin")
				} else if err != nil || status != protocol.WriteAccepted {
					t.Errorf("%s, error %v", status, err)
				}
			})
		})
	}
}

func TestQueuedBytesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		child := r.start("p")
		child.full = make(chan struct{})
		r.write("p", "huge", strings.Repeat("x", limits.QueuedWriteBytes+1)) // one always fits
		r.waitingWrite("p", "more", "x")
		close(child.full)
		synctest.Wait()
	})
}

func TestCloseStdin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		closeStdin := func() error {
			return r.table.CloseStdin(&protocol.CloseStdinParams{ProcessID: "p"})
		}
		wantError(t, closeStdin(), protocol.CodeInvalidRequest, "unknown process id p")
		child := r.start("p")
		r.fill("p", child)
		waiting := r.waitingWrite("p", "w", "last")
		for range 2 {
			if err := closeStdin(); err != nil {
				t.Error(err)
			}
		}
		if got := r.write("p", "fill 0", "-"); got != protocol.WriteAccepted {
			t.Errorf("a repeat: %s", got)
		}
		if got := r.write("p", "late", "x"); got != protocol.WriteStdinClosed {
			t.Errorf("a write behind the end: %s", got)
		}
		if child.stdinClosed {
			t.Error("closed before what was written")
		}
		close(child.full)
		if _, err := waiting.Wait(t.Context()); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if got := strings.TrimLeft(child.read(), "-"); got != "last" || !child.stdinClosed {
			t.Errorf("the child has read %q, closed %v", got, child.stdinClosed)
		}
		child.end(0)
		if err := closeStdin(); err != nil {
			t.Error(err)
		}
	})
}

func TestCloseStdinOfATerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		s, _ := r.table.Start(&protocol.StartParams{ProcessID: "p", TTY: true})
		if _, err := s.Run(); err != nil {
			t.Fatal(err)
		}
		err := r.table.CloseStdin(&protocol.CloseStdinParams{ProcessID: "p"})
		if e, ok := errors.AsType[*protocol.Error](err); !ok || e.Code != protocol.CodeInvalidParams {
			t.Errorf("got error %v", err)
		}
	})
}

// TestWithdrawnWriteMakesRoom: those behind it go on.
func TestWithdrawnWriteMakesRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		child := r.start("p")
		child.full = make(chan struct{})
		r.write("p", "first", strings.Repeat("x", limits.QueuedWriteBytes-10))
		large := r.waitingWrite("p", "large", strings.Repeat("y", 100))
		small := r.waitingWrite("p", "small", "z")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := large.Wait(ctx); err == nil {
			t.Error("the withdrawn write was accepted")
		}
		if status, err := small.Wait(t.Context()); err != nil || status != protocol.WriteAccepted {
			t.Errorf("%s, error %v", status, err)
		}
		close(child.full)
		synctest.Wait()
	})
}

func TestWriteIDLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.start("p")
		id := strings.Repeat("i", limits.WriteIDBytes)
		if got := r.write("p", id, "x"); got != protocol.WriteAccepted {
			t.Error(got)
		}
		_, err := r.table.Write(&protocol.WriteParams{ProcessID: "p", WriteID: id + "i"})
		if e, ok := errors.AsType[*protocol.Error](err); !ok || e.Code != protocol.CodeInvalidParams {
			t.Errorf("got %v", err)
		}
	})
}

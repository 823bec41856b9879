package process

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/internal/spawn"
	"github.com/airlock-exec/airlock/protocol"
)

// startTimed starts a process with timeouts in milliseconds, 0 for none.
func (r *rig) startTimed(id string, whole, idle uint64) *fakeChild {
	extra := &protocol.StartExtra{}
	if whole > 0 {
		extra.TimeoutMs = &whole
	}
	if idle > 0 {
		extra.IdleTimeoutMs = &idle
	}
	return r.startWith(&protocol.StartParams{ProcessID: id, PipeStdin: true, Airlock: extra})
}

func isKilled(c *fakeChild) bool {
	synctest.Wait()
	select {
	case <-c.killed:
		return true
	default:
		return false
	}
}

// wantReason checks what a read and the feed tell of why a process has ended.
func (r *rig) wantReason(id string, code int32, want protocol.EndReason) {
	r.Helper()
	synctest.Wait()
	result := r.read(id, 0)
	if !result.Exited || *result.ExitCode != code {
		r.Errorf("process %s: exited %v with %v, want %d", id, result.Exited, result.ExitCode, code)
	}
	var got protocol.EndReason
	if result.Airlock != nil {
		got = result.Airlock.Reason
		if got == "" {
			got = result.Airlock.CloseReason
		}
	}
	if got != want {
		r.Errorf("process %s: reason %q, want %q", id, got, want)
	}
}

func TestDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		child := r.startTimed("p", 1000, 0)
		time.Sleep(999 * time.Millisecond)
		child.events.Output(spawn.Stdout, []byte("busy"))
		if isKilled(child) {
			t.Fatal("killed too early")
		}
		time.Sleep(time.Millisecond)
		if !isKilled(child) {
			t.Fatal("not killed")
		}
		r.wantReason("p", 137, protocol.ReasonDeadline)
	})
}

// TestDeadlineNotReached: a timer that has no more to do is gone, and says
// nothing.
func TestDeadlineNotReached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		child := r.startTimed("p", 1000, 1000)
		child.end(0)
		time.Sleep(2 * time.Second)
		if isKilled(child) {
			t.Error("killed after the end")
		}
		r.wantReason("p", 0, "")
		removed := r.startTimed("q", 1000, 1000)
		r.table.forget(r.table.find("q"))
		time.Sleep(2 * time.Second)
		if !isKilled(removed) {
			t.Error("not killed when it was forgotten")
		}
	})
}

// TestDeadlineAfterExit: what a program has left behind ends, too. The exit has
// been told already, so the close tells why.
func TestDeadlineAfterExit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		f := r.table.Attach(0)
		child := r.startTimed("p", 1000, 0)
		child.mu.Lock()
		child.ended, child.lingered = true, true
		child.mu.Unlock()
		child.events.Exited(0)
		r.wantReason("p", 0, "")
		time.Sleep(time.Second)
		if !isKilled(child) {
			t.Fatal("not killed")
		}
		child.events.Closed()
		r.wantReason("p", 0, protocol.ReasonDeadline)
		exit, _ := f.Next(nil)
		end, _ := f.Next(nil)
		if exit.Reason != "" || end.Reason != protocol.ReasonDeadline {
			t.Errorf("the exit tells %q, the close %q", exit.Reason, end.Reason)
		}
	})
}

func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		f := r.table.Attach(0)
		child := r.startTimed("p", 0, 1000)
		for i := range 4 { // something is said or written just in time
			time.Sleep(999 * time.Millisecond)
			if i%2 == 0 {
				child.events.Output(spawn.Stderr, []byte("x"))
			} else {
				r.write("p", string(rune('a'+i)), "y")
			}
		}
		if isKilled(child) {
			t.Fatal("killed while it was active")
		}
		time.Sleep(time.Second)
		if !isKilled(child) {
			t.Fatal("not killed")
		}
		r.wantReason("p", 137, protocol.ReasonIdle)
		for {
			event, ok := f.Next(nil)
			if !ok || event.Kind == EventClosed {
				t.Fatal("no exit with a reason")
			}
			if event.Reason == protocol.ReasonIdle && event.Kind == EventExited {
				break
			}
		}
	})
}

// TestIdleWhileHeld: a process that must not be read from can't be heard.
func TestIdleWhileHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		f := r.table.Attach(1)
		child := r.startTimed("p", 0, 1000)
		for range heldBytes/limits.ChunkBytes + 2 {
			child.events.Output(spawn.Stdout, make([]byte, limits.ChunkBytes))
		}
		admitted := make(chan struct{})
		go func() {
			child.events.Admit(nil)
			close(admitted)
		}()
		time.Sleep(10 * time.Second)
		if isKilled(child) {
			t.Fatal("killed while it was held back")
		}
		r.table.Detach(f)
		<-admitted
		time.Sleep(999 * time.Millisecond)
		if isKilled(child) {
			t.Fatal("killed as if it had been silent while it was held back")
		}
		time.Sleep(1001 * time.Millisecond)
		if !isKilled(child) {
			t.Fatal("not killed")
		}
	})
}

// TestDeadlineTooLate: a program that ends by itself just when its time is over has
// not been ended by that, and nothing that it has left behind has.
func TestDeadlineTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		f := r.table.Attach(0)
		child := r.startTimed("p", 1000, 0)
		child.mu.Lock()
		child.ended = true // so that a kill does nothing any more
		child.mu.Unlock()
		time.Sleep(time.Second)
		if !isKilled(child) {
			t.Fatal("the deadline has done nothing")
		}
		child.end(0)
		r.wantReason("p", 0, "")
		for range 2 {
			if event, _ := f.Next(nil); event.Reason != "" {
				t.Errorf("event %d tells %q", event.Seq, event.Reason)
			}
		}
	})
}

// TestFirstReasonCounts: what has ended a process is not what came later.
func TestFirstReasonCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		child := r.startTimed("p", 1000, 2000)
		child.exceeded = spawn.ExceededMemory
		time.Sleep(3 * time.Second)
		r.wantReason("p", 137, protocol.ReasonDeadline)
	})
}

func TestExceeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		for id, test := range map[string]struct {
			exceeded spawn.Exceeded
			code     int
			want     protocol.EndReason
		}{
			"memory":   {spawn.ExceededMemory, 137, protocol.ReasonMemory},
			"cpu":      {spawn.ExceededCPU, 152, protocol.ReasonCPU},
			"file":     {spawn.ExceededFile, 153, protocol.ReasonFileSize},
			"none":     {"", 137, ""},
			"survived": {spawn.ExceededMemory, 0, ""}, // somebody else was killed
		} {
			child := r.start(id)
			child.exceeded = test.exceeded
			child.end(test.code)
			r.wantReason(id, int32(test.code), test.want)
		}
	})
}

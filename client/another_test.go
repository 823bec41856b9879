package client

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/airlock-exec/airlock/protocol"
)

// TestAnotherProgramsProcess: a handle on a process of a session that is gone
// on with has what the executor has kept, and then what happens.
func TestAnotherProgramsProcess(t *testing.T) {
	kinds(t, func(t *testing.T, f *fake) {
		q := f.process("p")
		f.happen(q, out("a"), out("b"))
		q.starting = true
		time.AfterFunc(time.Second, func() {
			f.mu.Lock()
			defer f.mu.Unlock()
			q.starting = false
		})
		e := open(t, f, Options{ResumeSessionID: fakeSession})
		if e.SessionID() != fakeSession || *f.opened[0].ResumeSessionID != fakeSession || f.opened[0].Airlock.Takeover {
			t.Errorf("opened with %+v", f.opened[0])
		}
		p := e.Process("p")
		if e.Process("p") != p {
			t.Error("two handles at a time")
		}
		f.happen(q, out("c"))
		synctest.Wait()
		got := make(chan string)
		go func() { got <- follow(t, p) }()
		time.Sleep(10 * time.Second)
		f.happen(q, out("d"), Event{Kind: Exited}, Event{Kind: Closed})
		if got, want := <-got, "o1:a o2:b o3:c o4:d x5 c6"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if got, want := follow(t, e.Process("p")), "o1:a o2:b o3:c o4:d x5 c6"; got != want {
			t.Errorf("once more: %s, want %s", got, want)
		}
	})
}

// TestWritesOfAnotherProgram: the writes of two programs to one process are not
// taken for repetitions of each other.
func TestWritesOfAnotherProgram(t *testing.T) {
	kinds(t, func(t *testing.T, f *fake) {
		first := open(t, f, Options{})
		if err := begin(t, first, "p").Write(t.Context(), []byte("a")); err != nil {
			t.Error(err)
		}
		_ = first.Close()
		second := open(t, f, Options{ResumeSessionID: first.SessionID()})
		if err := second.Process("p").Write(t.Context(), []byte("b")); err != nil {
			t.Error(err)
		}
		if got := f.procs["p"].input; got != "ab" {
			t.Errorf("written: %q", got)
		}
	})
}

// TestUnknownSession: a session that is not there can't be gone on with.
func TestUnknownSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		f.refuse = func(*protocol.InitializeParams) error {
			return protocol.Errorf(protocol.CodeInvalidRequest, "unknown session id x")
		}
		e, err := Connect(t.Context(), f, Options{ResumeSessionID: "x", Takeover: true})
		if e != nil {
			t.Error("there is an executor all the same")
		}
		if !errors.Is(err, ErrSessionLost) || !f.opened[0].Airlock.Takeover {
			t.Errorf("got %v", err)
		}
	})
}

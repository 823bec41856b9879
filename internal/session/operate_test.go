package session

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/airlock-exec/airlock/protocol"
)

func TestList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		created := time.Now()
		first := r.create(&peer{})
		time.Sleep(time.Second)
		second, err := r.Create(&peer{}, Options{ClientName: "agent"})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		first.Detach()
		list := r.List()
		if len(list) != 2 || list[0].Session != first.Session() || list[1].Session != second.Session() {
			t.Fatalf("%+v", list)
		}
		if got := list[0]; got.Attached || !got.Created.Equal(created) || !got.Changed.Equal(created.Add(2*time.Second)) {
			t.Errorf("the first: %+v", got)
		}
		if got := list[1]; !got.Attached || got.ClientName != "agent" || !got.Changed.Equal(got.Created) {
			t.Errorf("the second: %+v", got)
		}
		if got := r.Find(second.Session().ID()); got != second.Session() {
			t.Errorf("found %v", got)
		}
		if got := r.Find("x"); got != nil {
			t.Errorf("found %v", got)
		}
	})
}

// TestEnd: an ended session is gone with its processes, whether or not somebody
// is attached, who is told.
func TestEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		for _, attached := range []bool{true, false} {
			p := &peer{}
			a := r.create(p)
			child := r.start(a, "p")
			if !attached {
				a.Detach()
			}
			id := a.Session().ID()
			if !r.End(id) || !child.killed {
				t.Errorf("attached %v: killed %v", attached, child.killed)
			}
			if attached && !errors.Is(p.closed, ErrEnded) {
				t.Errorf("the peer was closed with %v", p.closed)
			}
			if r.End(id) || r.Find(id) != nil {
				t.Errorf("attached %v: it is still there", attached)
			}
			if attached {
				a.Detach()
			}
		}
		time.Sleep(time.Hour) // no timer is left that would end it again
	})
}

// TestShut: while a session is being ended nobody may attach to it, and nothing be
// started in it; it ends when that is over, whoever waits.
func TestShut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		a := r.create(&peer{})
		child := r.start(a, "p")
		id := a.Session().ID()
		over := make(chan struct{})
		if !r.Shut(id) {
			t.Fatal("there is no session")
		}
		ended := r.EndAfter(id, func() { <-over })
		for _, takeover := range []bool{false, true} {
			_, err := r.Resume(id, &peer{}, Options{Takeover: takeover})
			if e, ok := errors.AsType[*protocol.Error](err); !ok || e.Message != "unknown session id "+id {
				t.Errorf("resume: %v", err)
			}
		}
		_, err := a.Session().Processes().Start(&protocol.StartParams{ProcessID: "q"})
		if err == nil || err.Error() != "process q can't be started: the operator is ending this session" {
			t.Errorf("start: %v", err)
		}
		synctest.Wait()
		select {
		case <-ended:
			t.Fatal("ended before its time")
		default:
		}
		if child.killed {
			t.Error("killed before its time")
		}
		close(over)
		<-ended
		if !child.killed || r.Find(id) != nil || r.Shut(id) {
			t.Errorf("killed %v, found %v", child.killed, r.Find(id))
		}
		a.Detach()
		r.Close()
		<-r.EndAfter("x", func() { t.Error("after the end") })
	})
}

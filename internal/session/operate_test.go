package session

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
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

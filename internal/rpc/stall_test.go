package rpc

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// stallRig is a connection to a peer that takes messages when told to.
type stallRig struct {
	*scripted
	conn *Conn

	mu   sync.Mutex
	told []bool
}

func newStallRig(t *testing.T, drop time.Duration) *stallRig {
	r := &stallRig{scripted: newScripted()}
	r.conn = New(r.scripted, &testHandler{}, Config{
		StallTimeout: 2 * time.Second, StallDrop: drop,
		Stalled: func(stalled bool) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.told = append(r.told, stalled)
		},
	})
	var serving sync.WaitGroup
	serving.Go(func() { _ = r.conn.Serve(context.Background()) })
	t.Cleanup(func() {
		r.conn.Close(nil)
		serving.Wait()
	})
	return r
}

func (r *stallRig) notify() {
	go func() {
		_ = r.conn.Notify(func(dst []byte) []byte { return append(dst, strings.Repeat("x", 100_000)...) })
		r.conn.Flush()
	}()
}

func (r *stallRig) want(t *testing.T, want ...bool) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Equal(r.told, want) {
		t.Errorf("told %v, want %v", r.told, want)
	}
}

func TestStalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newStallRig(t, 0)
		time.Sleep(time.Hour)
		r.want(t) // nothing to send is no stall
		for range 50 {
			r.notify()
		}
		time.Sleep(1900 * time.Millisecond)
		r.want(t)
		time.Sleep(700 * time.Millisecond)
		r.want(t, true)
		<-r.out // one is taken, and no more
		time.Sleep(600 * time.Millisecond)
		r.want(t, true, false)
		time.Sleep(3 * time.Second)
		r.want(t, true, false, true)
		for range 49 {
			<-r.out
		}
		time.Sleep(time.Hour)
		r.want(t, true, false, true, false)
	})
}

func TestSlowIsNotStalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newStallRig(t, 10*time.Second)
		for range 100 {
			r.notify()
		}
		for range 100 {
			time.Sleep(1500 * time.Millisecond)
			<-r.out
		}
		r.want(t)
	})
}

func TestStallDrop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newStallRig(t, 60*time.Second)
		r.notify()
		time.Sleep(59 * time.Second)
		r.want(t, true)
		select {
		case <-r.done:
			t.Fatal("closed too early")
		default:
		}
		time.Sleep(2 * time.Second)
		<-r.done
		if r.reason != errStalled {
			t.Errorf("closed because of %v", r.reason)
		}
	})
}

// TestStallBehindALook: a write that begins while a look finds nothing to send is
// watched.
func TestStallBehindALook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newStallRig(t, time.Minute)
		watch := r.conn.stall
		busy, first := watch.busy, true
		watch.busy = func() bool {
			is := busy()
			if !is && first {
				first = false
				r.notify()
				synctest.Wait()
			}
			return is
		}
		r.notify()
		time.Sleep(10 * time.Millisecond)
		<-r.out
		time.Sleep(10 * time.Minute)
		r.want(t, true)
	})
}

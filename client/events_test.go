package client

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"
)

// TestEventsInAnyOrder: whatever order events come in, and however often, they
// are handed out in the order of their numbers, once.
func TestEventsInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const count = 20
		var numbers []uint64
		for n := range uint64(count) {
			numbers = append(numbers, n+1)
		}
		e := newEvents()
		order := append(rapid.Permutation(numbers).Draw(t, "order"), rapid.Permutation(numbers).Draw(t, "again")...)
		for _, n := range order {
			if err := e.put(Event{Seq: n}); err != nil {
				t.Fatal(err)
			}
		}
		for _, n := range numbers {
			if event, err := e.next(context.Background()); err != nil || event.Seq != n {
				t.Fatalf("number %d, error %v, want %d", event.Seq, err, n)
			}
		}
		if len(e.queue) != 0 || len(e.early) != 0 {
			t.Fatalf("%d events left, %d early", len(e.queue), len(e.early))
		}
	})
}

func TestEventsWithAGap(t *testing.T) {
	e := newEvents()
	for n := range uint64(earlyEvents + 1) {
		if err := e.put(Event{Seq: n + 2}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := e.next(t.Context()); !errors.Is(err, errGap) {
		t.Errorf("got %v", err)
	}
}

// TestEventsAreBounded: too much that nobody takes holds back the connection,
// and its end frees it.
func TestEventsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEvents()
		done := make(chan error, 1)
		put := 0
		go func() {
			for n := uint64(1); ; n++ {
				if err := e.put(Event{Seq: n, Data: make([]byte, 1024)}); err != nil {
					done <- err
					return
				}
				put++
			}
		}()
		synctest.Wait()
		if put != waitingBytes/1024 {
			t.Errorf("%d events wait", put)
		}
		if _, err := e.next(t.Context()); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if put != waitingBytes/1024+1 {
			t.Errorf("%d events put after one was taken", put)
		}
		e.end(ErrDisconnected)
		if err := <-done; !errors.Is(err, ErrDisconnected) {
			t.Errorf("got %v", err)
		}
	})
}

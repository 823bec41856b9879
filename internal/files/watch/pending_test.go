package watch

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
)

// changesFor returns how many changes with names of 200 bytes take some bytes.
func changesFor(bytes int) int { return bytes/(200+changeBytes) + 1 }

func writeMany(t *testing.T, dir string, n int) {
	t.Helper()
	for i := range n {
		write(t, filepath.Join(dir, fmt.Sprintf("%0200d", i)), "")
	}
}

// waitFor waits for something to be so.
func waitFor(t *testing.T, is func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); !is(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatal("it does not come to that")
		}
	}
}

// state tells what is in an outbox.
func (o *outbox) state() (rescan bool, changes int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.rescan, len(o.changes)
}

// TestPendingOfAll: those who are slow share what may wait to be told, and are told
// to rescan. All others are told as ever; in the end nothing is counted any more.
func TestPendingOfAll(t *testing.T) {
	t.Parallel()
	many, few := t.TempDir(), t.TempDir()
	budget := &Budget{pending: pending{most: limits.WatchPendingFree}}
	slow, quick := connect(t, budget), connect(t, budget)
	var begins []func()
	for i := range 3 {
		_, begin, err := slow.Watch(t.Context(), &protocol.WatchParams{WatchID: fmt.Sprint(i), Path: uri(t, many)})
		must(t, err)
		begins = append(begins, begin)
	}
	quick.watch(protocol.WatchParams{Path: uri(t, few)})
	// Each takes the part of its own, and three quarters of what all share.
	n := changesFor(limits.WatchPendingFree * 7 / 4)
	writeMany(t, many, n)
	writeMany(t, few, 10)
	if h := quick.until(few); len(h.changes) != 10 || h.rescan {
		t.Errorf("who is quick is told %d changes, rescan %v", len(h.changes), h.rescan)
	}
	rescans := 0
	for _, w := range slow.watches {
		waitFor(t, func() bool { rescan, changes := w.out.state(); return rescan || changes == n })
		if rescan, _ := w.out.state(); rescan {
			rescans++
		}
	}
	if rescans != 2 {
		t.Errorf("%d of 3 have to rescan, though there is room for one", rescans)
	}
	for _, begin := range begins {
		begin()
	}
	slow.disconnect()
	if left := budget.pending.bytes.Load(); left != 0 {
		t.Errorf("%d bytes are counted in the end", left)
	}
}

// TestPendingIsCountedUntilItIsTold: what is being told takes as much as before.
func TestPendingIsCountedUntilItIsTold(t *testing.T) {
	t.Parallel()
	all := new(pending)
	o := newOutbox(limits.WatchPendingBytes, all)
	for _, end := range []func(){func() { o.done(o.take()) }, o.missed} {
		for i := range changesFor(2 * limits.WatchPendingFree) {
			o.add(strings.Repeat("x", 195)+fmt.Sprintf("%05d", i), protocol.ChangeCreated)
		}
		if n := all.bytes.Load(); n < limits.WatchPendingFree {
			t.Errorf("%d bytes are counted", n)
		}
		end()
		if n := all.bytes.Load(); n != 0 {
			t.Errorf("%d bytes are counted in the end", n)
		}
		o.take()
	}
}

package client

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/airlock-exec/airlock/protocol"
)

// TestHoleThatStays: an event that does not come by itself is read.
func TestHoleThatStays(t *testing.T) {
	kinds(t, func(t *testing.T, f *fake) {
		e := open(t, f, Options{})
		p := begin(t, e, "p")
		q := f.procs["p"]
		f.happen(q, out("a"))
		f.quietly(q, out("b"), Event{Kind: Exited}, out("c"))
		f.tell(q, 4)
		f.happen(q, Event{Kind: Closed})
		began := time.Now()
		if got, want := follow(t, p), "o1:a o2:b x3 o4:c c5"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if waited := time.Since(began) > 0; waited == f.paces() || time.Since(began) > holeTime {
			t.Errorf("after %v", time.Since(began))
		}
	})
}

// TestHoleThatCloses: an event that comes a little late is waited for.
func TestHoleThatCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		e := open(t, f, Options{})
		p := begin(t, e, "p")
		q := f.procs["p"]
		f.quietly(q, out("a"), out("b"))
		f.tell(q, 2)
		time.AfterFunc(holeTime/2, func() {
			f.tell(q, 1)
			f.happen(q, Event{Kind: Exited}, Event{Kind: Closed})
		})
		if got, want := follow(t, p), "o1:a o2:b x3 c4"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if n := f.calls(protocol.MethodProcessRead); n != 0 {
			t.Errorf("%d reads", n)
		}
	})
}

// TestExitLostInAGap: an exit among output that was dropped is told although the
// process does not close for long.
func TestExitLostInAGap(t *testing.T) {
	kinds(t, func(t *testing.T, f *fake) {
		e := open(t, f, Options{})
		p := begin(t, e, "p")
		q := f.procs["p"]
		f.cut()
		f.happen(q, out("a"), Event{Kind: Exited, ExitCode: 3}, out("b"), out("c"))
		f.evict(q, 3)
		var all []string
		for range 3 {
			event, err := p.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, describe(event))
			if event.Kind == Exited && event.ExitCode != 3 {
				t.Errorf("exit code %d", event.ExitCode)
			}
		}
		want := "g1-2 x3 o4"
		if f.paces() {
			want = "g1-3:stdout=2 o4 x4"
		}
		if got := strings.Join(all, " "); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

// TestReadAtOnce: an executor that does not pace itself is read as soon as there
// is a connection, whether somebody takes events or not. The answer does not
// wait for that.
func TestReadAtOnce(t *testing.T) {
	kinds(t, func(t *testing.T, f *fake) {
		e := open(t, f, Options{})
		p := begin(t, e, "p")
		q := f.procs["p"]
		chunk := strings.Repeat("x", 64<<10)
		for range 15 {
			f.happen(q, out(chunk))
		}
		synctest.Wait()
		f.cut()
		f.happen(q, out(chunk), out(chunk), out(chunk)) // more than is waited with
		time.Sleep(time.Second)
		f.mu.Lock()
		f.before = func(method string) bool {
			if method == protocol.MethodProcessRead {
				f.happen(q, out("1"), out("2")) // told before the answer
			}
			return false
		}
		f.mu.Unlock()
		f.cut()
		time.Sleep(time.Second)
		synctest.Wait()
		want := 2
		if f.paces() {
			want = 0
		}
		p.inbox.mu.Lock()
		reading := p.inbox.reading
		p.inbox.mu.Unlock()
		f.mu.Lock()
		f.before = nil
		if len(f.reads) != want || reading {
			t.Errorf("%d reads; still reading: %v", len(f.reads), reading)
		}
		f.mu.Unlock()
		go f.happen(q, Event{Kind: Exited}, Event{Kind: Closed})
		if n := strings.Count(follow(t, p), "o"); n != len(q.log)-2 {
			t.Errorf("%d of %d chunks", n, len(q.log)-2)
		}
	})
}

// TestStartedOnALostConnection: what has happened since then is read.
func TestStartedOnALostConnection(t *testing.T) {
	for _, test := range []struct {
		name    string
		resumed bool // between the answer and its being noticed
		late    bool // the answer says that there was an earlier start
		behind  bool
	}{
		{"the same connection", false, false, false},
		{"another connection", true, false, true},
		{"an earlier start", false, true, true},
	} {
		b := &newProcess(nil, "p").inbox
		b.adopt()
		epoch := b.currentEpoch()
		if test.resumed {
			b.resumed()
		}
		if b.behind {
			t.Errorf("%s: to be read before it is started", test.name)
		}
		b.started(nil, epoch, test.late)
		if b.behind != test.behind {
			t.Errorf("%s: to be read: %v", test.name, b.behind)
		}
	}
}

// TestSmallerReads: over connections that break while a read is answered, less
// is asked for, until something gets through.
func TestSmallerReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, pacing...)
		e := open(t, f, Options{})
		p := begin(t, e, "p")
		q := f.procs["p"]
		f.cut()
		for range 30 {
			f.happen(q, out(strings.Repeat("x", 30<<10)))
		}
		f.happen(q, Event{Kind: Exited}, Event{Kind: Closed})
		f.after = func(method string) bool {
			f.mu.Lock()
			defer f.mu.Unlock()
			last := len(f.reads) - 1
			return method == protocol.MethodProcessRead && f.reads[last].MaxBytes != nil && *f.reads[last].MaxBytes > 40<<10
		}
		if got := strings.Count(follow(t, p), "o"); got != 30 {
			t.Errorf("%d chunks", got)
		}
		var sizes []uint64
		for _, r := range f.reads {
			if r.MaxBytes != nil {
				sizes = append(sizes, *r.MaxBytes>>10)
			}
		}
		if !slices.Equal(sizes[:5], []uint64{256, 128, 64, 32, 64}) {
			t.Errorf("KiB asked for: %d", sizes)
		}
	})
}

package process

import (
	"bytes"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/internal/outlog"
	"github.com/airlock-exec/airlock/internal/spawn"
	"github.com/airlock-exec/airlock/protocol"
)

// next takes an event and describes it.
func next(t *testing.T, f *Feed) string {
	t.Helper()
	e, ok := f.Next(nil)
	if !ok {
		return "end"
	}
	switch e.Kind {
	case EventOutput:
		return fmt.Sprintf("%s %d %s", e.ProcessID, e.Seq, e.Data)
	case EventExited:
		return fmt.Sprintf("%s %d exited %d", e.ProcessID, e.Seq, e.ExitCode)
	default:
		return fmt.Sprintf("%s %d closed", e.ProcessID, e.Seq)
	}
}

func want(t *testing.T, f *Feed, events ...string) {
	t.Helper()
	var got []string
	for range events {
		got = append(got, next(t, f))
	}
	if diff := cmp.Diff(events, got); diff != "" {
		t.Error(diff)
	}
}

func TestFeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		before := r.start("before")
		before.events.Output(spawn.Stdout, []byte("missed"))
		f := r.table.Attach(0)
		before.events.Output(spawn.Stderr, []byte("seen"))
		before.end(1)
		want(t, f, "before 2 seen", "before 3 exited 1", "before 4 closed")

		child := r.start("p")
		child.events.Output(spawn.Stdout, []byte("a"))
		want(t, f, "p 1 a")
		child.events.Exited(0)
		child.events.Output(spawn.Stdout, []byte("late"))
		child.events.Closed()
		want(t, f, "p 2 exited 0", "p 3 late", "p 4 closed")

		r.table.Detach(f)
		want(t, f, "end")
	})
}

// TestNothingBeforeTheAnswer: events wait until the start has been answered.
func TestNothingBeforeTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		f := r.table.Attach(0)
		s, _ := r.table.Start(&protocol.StartParams{ProcessID: "p"})
		if _, err := s.Run(); err != nil {
			t.Fatal(err)
		}
		child := <-r.launcher.children
		child.events.Output(spawn.Stdout, []byte("quick"))
		child.end(0)
		var events []string
		go func() {
			for range 3 {
				events = append(events, next(t, f))
			}
		}()
		synctest.Wait()
		if events != nil {
			t.Errorf("told before the answer: %v", events)
		}
		s.Announce()
		synctest.Wait()
		if diff := cmp.Diff([]string{"p 1 quick", "p 2 exited 0", "p 3 closed"}, events); diff != "" {
			t.Error(diff)
		}
	})
}

// TestCoalescing: what comes while the feed is behind goes into one chunk, but
// never into one that somebody has seen, nor across an exit.
func TestCoalescing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		f := r.table.Attach(0)
		child := r.start("p")
		out := func(s string) { child.events.Output(spawn.Stdout, []byte(s)) }
		out("a")
		out("b")
		child.events.Output(spawn.Stderr, []byte("e"))
		out("c")
		out("d")
		want(t, f, "p 1 ab", "p 2 e")
		out("e")
		if got := r.read("p", 2); string(got.Chunks[0].Chunk) != "cde" {
			t.Errorf("read %q", got.Chunks[0].Chunk)
		}
		out("f") // the chunk before has been read
		child.events.Exited(0)
		out("g")
		child.events.Closed()
		want(t, f, "p 3 cde", "p 4 f", "p 5 exited 0", "p 6 g", "p 7 closed")
	})
}

// TestHeldBack: a process is not read from while its feed is behind; without a
// feed it never waits.
func TestHeldBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		f := r.table.Attach(0)
		child := r.start("p")
		block := bytes.Repeat([]byte{'x'}, limits.ChunkBytes)
		var read int
		done := make(chan struct{})
		go func() {
			defer close(done)
			for read < 100*limits.ChunkBytes {
				child.events.Admit(nil)
				child.events.Output(spawn.Stdout, block)
				read += len(block)
			}
		}()
		synctest.Wait()
		held := read
		if held < heldBytes || held > heldBytes+limits.ChunkBytes {
			t.Errorf("held back after %d bytes", held)
		}
		for range 4 {
			f.Next(nil)
		}
		synctest.Wait()
		if read <= held {
			t.Error("still held back after the feed has moved on")
		}
		r.table.Detach(f)
		<-done
		child.end(0)
		if got := r.read("p", 0); got.Airlock == nil || got.Closed != true {
			t.Errorf("detached: %+v", got.Airlock)
		}
	})
}

// TestStalledFeed: a process runs ahead of a feed that nobody takes events from;
// what is dropped is told when somebody does again.
func TestStalledFeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		f := r.table.Attach(0)
		child := r.start("p")
		block := bytes.Repeat([]byte{'x'}, limits.ChunkBytes)
		const blocks = 2 * limits.RetainedBytes / limits.ChunkBytes
		done := make(chan struct{})
		go func() {
			defer close(done)
			for i := range blocks {
				child.events.Admit(nil)
				child.events.Output(spawn.Stdout, block)
				if i == 1 {
					child.events.Exited(0) // and a background child writes on
				}
			}
		}()
		synctest.Wait()
		select {
		case <-done:
			t.Fatal("not held back")
		default:
		}
		r.table.Stall(f, true)
		<-done
		r.table.Stall(f, false)
		child.events.Closed()

		var came, last uint64
		exits := 0
		var gap *outlog.Gap
		for last != blocks+2 {
			e, _ := f.Next(nil)
			if e.Seq != last+1 && e.Gap == nil || e.Gap != nil && gap != nil && *gap != *e.Gap {
				t.Fatalf("number %d follows %d, gap %v", e.Seq, last, e.Gap)
			}
			if e.Gap != nil {
				gap = e.Gap
			}
			if e.Kind == EventExited {
				exits++
			}
			last = e.Seq
			came += uint64(len(e.Data))
		}
		if gap == nil || came+gap.Dropped[spawn.Stdout] != blocks*limits.ChunkBytes || exits != 1 {
			t.Errorf("%d bytes and %d exits came, gap %v", came, exits, gap)
		}
	})
}

func TestHeldBackUntilStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.table.Attach(0)
		child := r.start("p")
		for range heldBytes / limits.ChunkBytes {
			child.events.Output(spawn.Stdout, bytes.Repeat([]byte{'x'}, limits.ChunkBytes))
		}
		stop := make(chan struct{})
		close(stop)
		child.events.Admit(stop)
	})
}

// TestTinyChunksAreHeldBackToo: the number of chunks is bounded like the bytes.
func TestTinyChunksAreHeldBackToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.table.Attach(0)
		child := r.start("p")
		chunks := 0
		go func() {
			for chunks < limits.RetainedChunks {
				child.events.Admit(child.killed)
				// Streams in turn, so that nothing grows.
				child.events.Output(spawn.Stream(chunks%2), []byte{'x'})
				chunks++
			}
		}()
		synctest.Wait()
		if chunks >= limits.RetainedChunks {
			t.Error("not held back")
		}
		child.Kill()
	})
}

// TestNewFeedReplacesTheOld: an exchange of feeds loses and repeats nothing.
func TestNewFeedReplacesTheOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		old := r.table.Attach(0)
		child := r.start("p")
		child.events.Output(spawn.Stdout, []byte("a"))
		f := r.table.Attach(0)
		want(t, old, "end")
		child.events.Output(spawn.Stdout, []byte("b"))
		want(t, f, "p 2 b")
		r.table.Detach(old) // is not the feed any more
		child.end(0)
		want(t, f, "p 3 exited 0", "p 4 closed")
	})
}

// TestSeveralProcessesInTurn: one that prints much does not keep the others'
// events back.
func TestSeveralProcessesInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		f := r.table.Attach(0)
		a, b := r.start("a"), r.start("b")
		for range 2 {
			for _, stream := range []spawn.Stream{spawn.Stdout, spawn.Stderr} {
				a.events.Output(stream, []byte("x"))
			}
		}
		b.end(0)
		want(t, f, "a 1 x", "b 1 exited 0", "a 2 x", "b 2 closed", "a 3 x", "a 4 x")
	})
}

// TestSlowFeedMissesNothing: a process is not forgotten before a feed has been
// told of it to the end.
func TestSlowFeedMissesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		f := r.table.Attach(0)
		child := r.start("p")
		child.events.Output(spawn.Stdout, []byte("a"))
		child.end(0)
		time.Sleep(time.Hour)
		want(t, f, "p 1 a", "p 2 exited 0")
		if _, err := r.table.Start(&protocol.StartParams{ProcessID: "p"}); err == nil {
			t.Error("the id is free")
		}
		want(t, f, "p 3 closed")
		time.Sleep(81 * time.Second)
		if _, err := r.table.Read(&protocol.ReadParams{ProcessID: "p"}); err == nil {
			t.Error("the process is still known")
		}
	})
}

// TestCanceledStartIsNotHeardOf: its child's end is nobody's news.
func TestCanceledStartIsNotHeardOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		slow := deafLauncher{newFakeLauncher(), make(chan struct{})}
		r.table.launcher = slow
		f := r.table.Attach(0)
		s, _ := r.table.Start(&protocol.StartParams{ProcessID: "p"})
		started := run(s)
		r.table.Terminate(&protocol.TerminateParams{ProcessID: "p"})
		close(slow.gate)
		<-started
		s.Announce()
		synctest.Wait() // the child is dead
		r.table.launcher = r.launcher
		r.start("q").end(0)
		want(t, f, "q 1 exited 0", "q 2 closed")
	})
}

package client

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/airlock-exec/airlock/protocol"
)

func err2(text string) Event {
	return Event{Kind: Output, Stream: protocol.StreamStderr, Data: []byte(text)}
}

// TestReaders: each stream has its own output, over cuts, and Wait the exit code.
func TestReaders(t *testing.T) {
	kinds(t, func(t *testing.T, f *fake) {
		e := open(t, f, Options{})
		p := begin(t, e, "p")
		q := f.procs["p"]
		f.happen(q, out("early "), err2("oops "))
		synctest.Wait()
		stdout, stderr := p.Stdout(), p.Stderr()
		if p.Stdout() != stdout {
			t.Error("a stream has two readers")
		}
		f.happen(q, out("live "))
		synctest.Wait()
		f.cut()
		f.happen(q, out("missed "), err2("again"))
		time.Sleep(time.Second)
		f.happen(q, out("late"), Event{Kind: Exited, ExitCode: 7}, Event{Kind: Closed})
		var all sync.WaitGroup
		for reader, want := range map[*Reader]string{stdout: "early live missed late", stderr: "oops again"} {
			all.Go(func() {
				if got, err := io.ReadAll(iotest.OneByteReader(reader)); err != nil || string(got) != want {
					t.Errorf("got %q, error %v, want %q", got, err, want)
				}
			})
		}
		if code, err := p.Wait(t.Context()); code != 7 || err != nil {
			t.Errorf("exit code %d, error %v", code, err)
		}
		all.Wait()
		if p.inbox.cost() != 0 {
			t.Errorf("%d bytes wait in the end", p.inbox.cost())
		}
	})
}

// TestReaderAndEvents: a stream with a reader has no output events, others have.
func TestReaderAndEvents(t *testing.T) {
	kinds(t, func(t *testing.T, f *fake) {
		e := open(t, f, Options{})
		p := begin(t, e, "p")
		f.happen(f.procs["p"], out("a"), err2("b"), out("c"), Event{Kind: Exited}, Event{Kind: Closed})
		synctest.Wait()
		if event, err := p.Next(t.Context()); err != nil || describe(event) != "o1" {
			t.Errorf("%v, error %v", event, err)
		}
		stdout := p.Stdout()
		if got, want := follow(t, p), "o2:b x4 c5"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if got, err := io.ReadAll(stdout); string(got) != "c" || err != nil {
			t.Errorf("got %q, error %v", got, err)
		}
	})
}

// TestReaderGap: what was dropped is an error once, and reading goes on. A
// stream that has lost nothing does not hear of it.
func TestReaderGap(t *testing.T) {
	kinds(t, func(t *testing.T, f *fake) {
		e := open(t, f, Options{})
		p := begin(t, e, "p")
		q := f.procs["p"]
		f.happen(q, out("ab"))
		synctest.Wait()
		f.cut()
		f.happen(q, out("cd"), out("ef"), err2("gh"), out("ij"))
		f.evict(q, 3)
		f.happen(q, Event{Kind: Exited}, Event{Kind: Closed})
		stdout, stderr := p.Stdout(), p.Stderr()
		read := func(r *Reader) (string, error) {
			got, err := io.ReadAll(r)
			return string(got), err
		}
		got, err := read(stdout)
		gap, ok := errors.AsType[*GapError](err)
		if got != "ab" || !ok {
			t.Fatalf("got %q, error %v", got, err)
		}
		want := &GapError{ProcessID: "p", FirstSeq: 2, LastSeq: 3}
		if f.paces() {
			want.Missed = map[protocol.Stream]uint64{protocol.StreamStdout: 4}
		}
		if diff := cmp.Diff(want, gap); diff != "" {
			t.Error(diff)
		}
		if got, err := read(stdout); got != "ij" || err != nil {
			t.Errorf("got %q, error %v", got, err)
		}
		got, err = read(stderr)
		if !f.paces() {
			if _, ok := errors.AsType[*GapError](err); !ok || got != "" {
				t.Errorf("got %q, error %v", got, err)
			}
			got, err = read(stderr)
		}
		if got != "gh" || err != nil {
			t.Errorf("got %q, error %v", got, err)
		}
		if code, err := p.Wait(t.Context()); code != 0 || err != nil {
			t.Errorf("exit code %d, error %v", code, err)
		}
	})
}

func TestGapErrorText(t *testing.T) {
	for want, missed := range map[string]map[protocol.Stream]uint64{
		`process "p": the executor has dropped some output (events 2 to 3)`: nil,
		`process "p": the executor has dropped 5 bytes of stdout and 6 bytes of stderr (events 2 to 3)`: {
			protocol.StreamStdout: 5, protocol.StreamStderr: 6,
		},
	} {
		err := &GapError{ProcessID: "p", FirstSeq: 2, LastSeq: 3, Missed: missed}
		if err.Error() != want {
			t.Errorf("got %s", err)
		}
	}
}

// TestReaderEnds: a read ends with its context, its reader, and the executor.
func TestReaderEnds(t *testing.T) {
	kinds(t, func(t *testing.T, f *fake) {
		e := open(t, f, Options{})
		p := begin(t, e, "p")
		stdout, stderr := p.Stdout(), p.Stderr()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := stdout.ReadContext(ctx, make([]byte, 1)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		ended := make(chan error)
		go func() {
			_, err := stdout.Read(make([]byte, 1))
			ended <- err
		}()
		synctest.Wait()
		_ = stdout.Close()
		if err := <-ended; !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("after the reader's end: %v", err)
		}
		// What comes for it is dropped.
		for range 100 {
			f.happen(f.procs["p"], out(strings.Repeat("x", 64<<10)))
		}
		synctest.Wait()
		if p.inbox.cost() != 0 {
			t.Errorf("%d bytes wait", p.inbox.cost())
		}
		go func() {
			_, err := stderr.Read(make([]byte, 1))
			ended <- err
		}()
		synctest.Wait()
		_ = e.Close()
		if err := <-ended; !errors.Is(err, ErrDisconnected) {
			t.Errorf("after the executor's end: %v", err)
		}
	})
}

// TestUnreadStreamIsBounded: while one stream is read and another is not, what
// waits of that does not grow, also when it has to be read after a cut.
func TestUnreadStreamIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, pacing...)
		e := open(t, f, Options{})
		p := begin(t, e, "p")
		q := f.procs["p"]
		stdout, stderr := p.Stdout(), p.Stderr()
		f.cut()
		for range 100 {
			f.happen(q, err2(strings.Repeat("x", 64<<10)))
		}
		f.happen(q, out("hi"), Event{Kind: Exited}, Event{Kind: Closed})
		got := make(chan string)
		go func() {
			text, _ := io.ReadAll(stdout)
			got <- string(text)
		}()
		time.Sleep(time.Minute)
		synctest.Wait()
		if p.inbox.cost() > windowBytes+readBytes+itemCost*100 {
			t.Errorf("%d bytes wait", p.inbox.cost())
		}
		if n, err := io.Copy(io.Discard, stderr); n != 100*64<<10 || err != nil {
			t.Errorf("%d bytes, error %v", n, err)
		}
		if text := <-got; text != "hi" {
			t.Errorf("got %q", text)
		}
	})
}

// TestStdin: writes arrive in order and whole, also from several goroutines.
func TestStdin(t *testing.T) {
	kinds(t, func(t *testing.T, f *fake) {
		e := open(t, f, Options{})
		p := begin(t, e, "p")
		in := p.Stdin(t.Context())
		long := strings.Repeat("0123456789", 20_000)
		if n, err := io.WriteString(in, long); n != len(long) || err != nil {
			t.Errorf("%d bytes, error %v", n, err)
		}
		f.after = once(protocol.MethodProcessWrite)
		var all sync.WaitGroup
		for _, c := range "abc" {
			all.Go(func() { _, _ = io.WriteString(in, strings.Repeat(string(c), 100_000)) })
		}
		all.Wait()
		rest, ok := strings.CutPrefix(f.procs["p"].input, long)
		if !ok || len(rest) != 300_000 {
			t.Fatalf("%d bytes", len(rest))
		}
		for n := 0; n < len(rest); n += 100_000 {
			if part := rest[n : n+100_000]; strings.Trim(part, part[:1]) != "" {
				t.Error("the writes are mixed")
			}
		}
		if err := in.Close(); f.paces() == errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("close: %v", err)
		}
	})
}

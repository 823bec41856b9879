package client

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/airlock-exec/airlock/protocol"
)

// TestSlowConsumer: who does not take the output of a process holds back that
// one alone, if the executor can do that; or else the connection.
func TestSlowConsumer(t *testing.T) {
	kinds(t, func(t *testing.T, f *fake) {
		e := open(t, f, Options{})
		slow, other := begin(t, e, "slow"), begin(t, e, "other")
		const size, count = 64 << 10, 100
		chunk := strings.Repeat("x", size)
		go func() {
			for range count {
				f.happen(f.procs["slow"], out(chunk))
			}
			f.happen(f.procs["other"], out("hi"), Event{Kind: Exited}, Event{Kind: Closed})
			f.happen(f.procs["slow"], Event{Kind: Exited}, Event{Kind: Closed})
		}()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := e.Status(ctx)
		if f.paces() {
			if err != nil {
				t.Errorf("a call meanwhile: %v", err)
			}
			if got, want := follow(t, other), "o1:hi x2 c3"; got != want {
				t.Errorf("the other process: %s", got)
			}
			if sent := f.attached.sent["slow"]; sent != windowBytes/size {
				t.Errorf("%d chunks sent to nobody", sent)
			}
		} else if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a call meanwhile: %v", err)
		}
		if waiting := slow.inbox.cost(); waiting > windowBytes+2*size {
			t.Errorf("%d bytes wait", waiting)
		}
		got, err := io.ReadAll(slow.Stdout())
		if err != nil || len(got) != size*count {
			t.Errorf("%d bytes, error %v", len(got), err)
		}
		if code, err := slow.Wait(t.Context()); code != 0 || err != nil {
			t.Errorf("exit code %d, error %v", code, err)
		}
		if got, want := f.calls(protocol.MethodProcessRead), 0; got != want {
			t.Errorf("%d reads", got)
		}
	})
}

// TestWindowSurvivesCuts: what was granted on one connection is not on the next,
// and what was not taken does not grow.
func TestWindowSurvivesCuts(t *testing.T) {
	kinds(t, func(t *testing.T, f *fake) {
		e := open(t, f, Options{})
		p := begin(t, e, "p")
		q := f.procs["p"]
		const size = 16 << 10
		var want bytes.Buffer
		write := func(n int) {
			chunk := bytes.Repeat([]byte{byte('a' + n%26)}, size)
			want.Write(chunk)
			f.happen(q, Event{Kind: Output, Stream: protocol.StreamStdout, Data: chunk})
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			for n := range 400 {
				write(n)
				if n%100 == 49 {
					f.cut()
					time.Sleep(time.Second)
				}
			}
		}()
		if f.paces() { // nobody takes anything for a while
			<-done
			time.Sleep(time.Minute)
			if waiting := p.inbox.cost(); waiting > mostBytes+earlyBytes+2*size {
				t.Errorf("%d bytes wait", waiting)
			}
		}
		got := make([]byte, 400*size)
		if n, err := io.ReadFull(p.Stdout(), got); err != nil {
			t.Fatalf("%d bytes, error %v", n, err)
		}
		<-done
		synctest.Wait()
		reads := f.calls(protocol.MethodProcessRead)
		go func() {
			for n := range 400 {
				write(n)
			}
			f.happen(q, Event{Kind: Exited}, Event{Kind: Closed})
		}()
		rest, err := io.ReadAll(p.Stdout())
		if err != nil || !bytes.Equal(slices.Concat(got, rest), want.Bytes()) {
			t.Errorf("%d of %d bytes, error %v", len(got)+len(rest), want.Len(), err)
		}
		if n := f.calls(protocol.MethodProcessRead) - reads; n > 2 {
			t.Errorf("%d reads of what came by itself", n)
		}
	})
}

// TestStrangers: output of processes that nobody here knows does not fill its
// window.
func TestStrangers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, pacing...)
		q := f.process("stranger")
		e := open(t, f, Options{ResumeSessionID: fakeSession})
		handle := e.Process("another")
		r := f.process("another")
		f.attached.sent["another"], f.attached.credit["another"] = 0, windowBytes
		for range 100 {
			f.happen(q, out(strings.Repeat("x", 64<<10)))
			f.happen(r, out(strings.Repeat("x", 64<<10)))
			synctest.Wait()
		}
		for id, sent := range f.attached.sent {
			if sent != 100 {
				t.Errorf("%s: %d chunks sent", id, sent)
			}
		}
		if handle.inbox.cost() != 0 {
			t.Error("what nobody has asked for waits")
		}
		f.happen(q, Event{Kind: Closed})
		synctest.Wait()
		if n := len(e.link.grants.strangers); n != 0 {
			t.Errorf("%d strangers are remembered", n)
		}
	})
}

// TestForgetfulExecutor: one that sends more than was granted does not fill the
// memory, and nothing is lost.
func TestForgetfulExecutor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, pacing...)
		e := open(t, f, Options{})
		p := begin(t, e, "p")
		f.attached.credit["p"] = 1 << 40
		const size, count = 64 << 10, 200
		for range count {
			f.happen(f.procs["p"], out(strings.Repeat("x", size)))
		}
		f.happen(f.procs["p"], Event{Kind: Exited}, Event{Kind: Closed})
		synctest.Wait()
		if p.inbox.cost() > mostBytes+2*size {
			t.Errorf("%d bytes wait", p.inbox.cost())
		}
		got, err := io.ReadAll(p.Stdout())
		if err != nil || len(got) != size*count {
			t.Errorf("%d bytes, error %v", len(got), err)
		}
	})
}

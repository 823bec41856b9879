package process

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/internal/spawn"
	"github.com/airlock-exec/airlock/protocol"
)

func TestSendSignal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		send := func(name protocol.SignalName) (bool, error) {
			result, err := r.table.SendSignal(&protocol.SendSignalParams{ProcessID: "p", Signal: name})
			return err == nil && result.Delivered, err
		}
		_, err := send(protocol.SignalHUP)
		wantError(t, err, protocol.CodeInvalidRequest, "unknown process id p")
		child := r.start("p")
		if delivered, err := send(protocol.SignalUSR1); !delivered || err != nil {
			t.Errorf("delivered %v, %v", delivered, err)
		}
		child.signalError = errors.New("no permission")
		_, err = send(protocol.SignalUSR1)
		wantError(t, err, protocol.CodeInternal, "failed to signal process: no permission")
		child.signalError = fmt.Errorf("%w here", errors.ErrUnsupported)
		_, err = send(protocol.SignalUSR1)
		wantError(t, err, protocol.CodeInvalidParams, "cannot send the signal USR1: unsupported operation here")
		child.events.Exited(0)
		if delivered, err := send(protocol.SignalUSR1); delivered || err != nil {
			t.Errorf("after the exit: delivered %v, %v", delivered, err)
		}
		if got := fmt.Sprint(child.signals); got != "[USR1 USR1 USR1]" {
			t.Errorf("signals %s", got)
		}
		child.events.Closed()
	})
}

func TestResize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		resize := func(id string, rows, cols uint16) error {
			return r.table.Resize(&protocol.ResizeParams{ProcessID: id, Rows: rows, Cols: cols})
		}
		wantError(t, resize("p", 1, 1), protocol.CodeInvalidRequest, "unknown process id p")
		child := r.startWith(&protocol.StartParams{ProcessID: "p", TTY: true})
		r.start("pipes")
		wantError(t, resize("p", 0, 1), protocol.CodeInvalidParams, "rows and cols must be 1 to 65535, not 0 and 1")
		wantError(t, resize("p", 1, 0), protocol.CodeInvalidParams, "rows and cols must be 1 to 65535, not 1 and 0")
		wantError(t, resize("pipes", 1, 1), protocol.CodeInvalidParams, "process pipes has no terminal: start it with `tty`")
		if err := resize("p", 65535, 2); err != nil || child.size != (spawn.Size{Rows: 65535, Cols: 2}) {
			t.Errorf("size %v, %v", child.size, err)
		}
		child.signalError = errors.New("no such device")
		wantError(t, resize("p", 1, 1), protocol.CodeInternal, "failed to resize the terminal: no such device")
		child.end(0)
		if err := resize("p", 3, 3); err != nil {
			t.Errorf("after the end: %v", err)
		}
	})
}

// TestGivenStdin: the child gets exactly what the start has brought, and then the
// end.
func TestGivenStdin(t *testing.T) {
	for _, data := range []string{"", "x", strings.Repeat("much ", 1<<20)} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			child := r.startWith(&protocol.StartParams{
				ProcessID: "p", Airlock: &protocol.StartExtra{Stdin: (*protocol.Bytes)(new([]byte(data)))},
			})
			synctest.Wait()
			if got := child.read(); got != data || !child.stdinClosed {
				t.Errorf("got %d bytes of %d, closed %v", len(got), len(data), child.stdinClosed)
			}
			if status := r.write("p", "w", "more"); status != protocol.WriteStdinClosed {
				t.Errorf("a write is %s", status)
			}
			if err := r.table.CloseStdin(&protocol.CloseStdinParams{ProcessID: "p"}); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestMechanisms(t *testing.T) {
	r := newRig(t)
	s, err := r.table.Start(&protocol.StartParams{ProcessID: "p", Airlock: &protocol.StartExtra{
		Limits: &protocol.ProcessLimits{MemoryBytes: new(uint64(1 << 30)), OpenFiles: new(uint64(100))},
	}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Run()
	if err != nil {
		t.Fatal(err)
	}
	want := &protocol.StartResultExtra{Limits: &protocol.LimitMechanisms{
		MemoryBytes: protocol.LimitCgroup2, OpenFiles: protocol.LimitRlimit,
	}}
	if diff := cmp.Diff(want, got.Airlock); diff != "" {
		t.Error(diff)
	}
	for _, extra := range []*protocol.StartExtra{nil, {}, {Limits: &protocol.ProcessLimits{}}} {
		s, err := r.table.Start(&protocol.StartParams{ProcessID: fmt.Sprint(extra), Airlock: extra})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := s.Run(); err != nil || got.Airlock != nil {
			t.Errorf("limits that were not asked for: %v, %v", got, err)
		}
	}
}

func TestList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		if got := r.table.List(&protocol.ListParams{}); len(got.Processes) != 0 || got.Processes == nil || got.Next != 0 {
			t.Errorf("of nothing: %+v", got)
		}
		now := time.Now().UnixMilli()
		b := r.startWith(&protocol.StartParams{ProcessID: "b", TTY: true, Argv: []string{"vi", "x"}})
		b.events.Output(spawn.Terminal, []byte("12345"))
		a := r.startWith(&protocol.StartParams{ProcessID: "a", Argv: []string{"cc", strings.Repeat("x", 2000), "y"}})
		a.exceeded = spawn.ExceededMemory
		a.events.Output(spawn.Stdout, []byte("1"))
		a.events.Output(spawn.Stderr, []byte("22"))
		a.end(137)
		want := []protocol.ProcessInfo{
			{
				ProcessID: "b", State: protocol.StateRunning, Argv: []string{"vi", "x"}, TTY: true, PID: 4711,
				StartedAtMs: now, NextSeq: 2, OutputBytes: map[protocol.Stream]uint64{protocol.StreamPTY: 5},
				Usage: &protocol.ProcessUsage{Processes: 3, CPUMs: 1500, MemoryBytes: 4096},
			},
			{
				ProcessID: "a", State: protocol.StateClosed, Argv: []string{"cc"}, ArgvCut: true, PID: 4711,
				StartedAtMs: now, NextSeq: 5, ExitCode: new(int32(137)), Reason: protocol.ReasonMemory,
				OutputBytes: map[protocol.Stream]uint64{protocol.StreamStdout: 1, protocol.StreamStderr: 2},
			},
		}
		if diff := cmp.Diff(want, r.table.List(&protocol.ListParams{Usage: true}).Processes); diff != "" {
			t.Error(diff)
		}
		if all, live := r.table.Counts(); all != 2 || live != 1 {
			t.Errorf("counts %d and %d", all, live)
		}
		if got := r.table.List(&protocol.ListParams{After: 1}); len(got.Processes) != 1 || got.Processes[0].Usage != nil {
			t.Errorf("after the first: %+v", got)
		}
	})
}

// TestListPages: ids can be so long that not all fit in one answer; each process
// is told once, and the pages come to an end.
func TestListPages(t *testing.T) {
	r := newRig(t)
	r.table.config.MaxProcesses = 100
	for i := range 99 {
		r.start(fmt.Sprintf("%02d", i) + strings.Repeat("i", limits.ProcessIDBytes-2))
	}
	var got []string
	pages := 0
	for after := uint64(0); ; pages++ {
		page := r.table.List(&protocol.ListParams{After: after})
		size := 0
		for _, info := range page.Processes {
			got = append(got, info.ProcessID[:2])
			size += len(info.ProcessID)
		}
		if size > limits.ListBytes+limits.ProcessIDBytes {
			t.Errorf("a page of %d bytes", size)
		}
		if page.Next == 0 {
			break
		}
		after = page.Next
	}
	for i, id := range got {
		if id != fmt.Sprintf("%02d", i) {
			t.Fatalf("process %s at place %d", id, i)
		}
	}
	if len(got) != 99 || pages < 2 {
		t.Errorf("%d processes on %d pages", len(got), pages+1)
	}
}

// TestObserve: a look from aside does not end the caution of a feed, as the
// client's own read does.
func TestObserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		child := r.start("p")
		child.events.Output(spawn.Stdout, []byte("before"))
		f := r.table.Attach(0)
		for i := range 2 * limits.AheadEvents {
			child.events.Output(spawn.Stream(i%2), []byte("x"))
		}
		observe := func(after, waitMs uint64) Reading {
			reading, err := r.table.Observe(&protocol.ReadParams{ProcessID: "p", AfterSeq: &after, WaitMs: &waitMs})
			if err != nil {
				t.Fatal(err)
			}
			return reading
		}
		if got := observe(0, 0); len(got.Result.Chunks) < 2*limits.AheadEvents || got.Sent != nil {
			t.Errorf("%d chunks", len(got.Result.Chunks))
		}
		handed := 0
		go func() {
			for {
				if _, ok := f.Next(nil); !ok {
					return
				}
				handed++
			}
		}()
		synctest.Wait()
		if handed != limits.AheadEvents {
			t.Errorf("%d events were handed out", handed)
		}
		pending := observe(1000, 5000).Pending
		if pending == nil {
			t.Fatal("nothing to wait for")
		}
		child.end(0)
		if err := pending.Wait(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if reading, err := pending.Read(); err != nil || !reading.Result.Closed {
			t.Errorf("%+v, %v", reading.Result, err)
		}
		_, err := r.table.Observe(&protocol.ReadParams{ProcessID: "q"})
		wantError(t, err, protocol.CodeInvalidRequest, "unknown process id q")
	})
}

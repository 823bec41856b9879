package process

import (
	"bytes"
	"context"
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

func TestNumbersAndRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		child := r.start("p")
		child.events.Output(spawn.Stdout, []byte("out\n"))
		child.events.Output(spawn.Stderr, []byte("err\n"))
		child.end(3)

		code := int32(3)
		whole := &protocol.ReadResult{
			Chunks: []protocol.Chunk{
				{Seq: 1, Stream: protocol.StreamStdout, Chunk: []byte("out\n")},
				{Seq: 2, Stream: protocol.StreamStderr, Chunk: []byte("err\n")},
			},
			NextSeq: 5, Exited: true, ExitCode: &code, Closed: true,
		}
		if diff := cmp.Diff(whole, r.read("p", 0)); diff != "" {
			t.Error(diff)
		}
		// The bounds of 02, appendix A.
		for _, test := range []struct {
			after, most uint64
			seqs        []uint64
			next        uint64
		}{
			{0, 0, []uint64{1}, 2},
			{0, 1, []uint64{1}, 2},
			{0, 4, []uint64{1}, 2},
			{0, 5, []uint64{1}, 2},
			{0, 8, []uint64{1, 2}, 3},
			{0, 1000, []uint64{1, 2}, 3},
			{1, 1, []uint64{2}, 3},
			{2, 10, nil, 5},
			{99, 10, nil, 5},
			{1<<64 - 1, 10, nil, 5},
		} {
			reading, err := r.table.Read(&protocol.ReadParams{
				ProcessID: "p", AfterSeq: &test.after, MaxBytes: &test.most, WaitMs: new(uint64(1000)),
			})
			if err != nil || reading.Pending != nil {
				t.Fatalf("after %d, at most %d: waits %v, error %v", test.after, test.most, reading.Pending != nil, err)
			}
			got := reading.Result
			var seqs []uint64
			for _, c := range got.Chunks {
				seqs = append(seqs, c.Seq)
			}
			if diff := cmp.Diff(test.seqs, seqs); diff != "" || got.NextSeq != test.next {
				t.Errorf("after %d, at most %d: next %d, want %d; chunks %s",
					test.after, test.most, got.NextSeq, test.next, diff)
			}
		}
	})
}

func TestLongPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		child := r.start("p")
		poll := func(after uint64, wait time.Duration) (*protocol.ReadResult, time.Duration) {
			t.Helper()
			began := time.Now()
			reading, err := r.table.Read(&protocol.ReadParams{
				ProcessID: "p", AfterSeq: &after, WaitMs: new(uint64(wait.Milliseconds())),
			})
			if pending := reading.Pending; pending != nil {
				if err := pending.Wait(t.Context(), nil); err != nil {
					t.Fatal(err)
				}
				reading, err = pending.Read()
			}
			if err != nil {
				t.Fatal(err)
			}
			return reading.Result, time.Since(began)
		}

		time.AfterFunc(time.Second, func() { child.events.Output(spawn.Stdout, []byte("x")) })
		if got, took := poll(0, 5*time.Second); took != time.Second || len(got.Chunks) != 1 {
			t.Errorf("%d chunks after %v", len(got.Chunks), took)
		}
		if got, took := poll(1, 2*time.Second); took != 2*time.Second || len(got.Chunks) != 0 || got.NextSeq != 2 {
			t.Errorf("%+v after %v", got, took)
		}
		// The exit wakes a waiter once; then it takes late output or the close.
		time.AfterFunc(time.Second, func() { child.events.Exited(7) })
		if got, took := poll(1, 5*time.Second); took != time.Second || !got.Exited || got.Closed || got.NextSeq != 3 {
			t.Errorf("%+v after %v", got, took)
		}
		time.AfterFunc(time.Second, func() { child.events.Output(spawn.Stdout, []byte("late")) })
		if got, took := poll(2, 5*time.Second); took != time.Second || len(got.Chunks) != 1 || got.Chunks[0].Seq != 3 {
			t.Errorf("%+v after %v", got, took)
		}
		time.AfterFunc(time.Second, func() { child.events.Closed() })
		if got, took := poll(3, 5*time.Second); took != time.Second || !got.Closed || got.NextSeq != 5 {
			t.Errorf("%+v after %v", got, took)
		}
		if got, took := poll(4, 5*time.Second); took != 0 || !got.Closed {
			t.Errorf("%+v after %v", got, took)
		}
	})
}

func TestLongPollEnds(t *testing.T) {
	for name, end := range map[string]func(r *rig, cancel context.CancelCauseFunc, hurry chan struct{}){
		"hurry":           func(_ *rig, _ context.CancelCauseFunc, hurry chan struct{}) { close(hurry) },
		"cancel":          func(_ *rig, cancel context.CancelCauseFunc, _ chan struct{}) { cancel(errors.New("gone")) },
		"table closed":    func(r *rig, _ context.CancelCauseFunc, _ chan struct{}) { r.table.Close() },
		"huge wait, then": func(_ *rig, _ context.CancelCauseFunc, hurry chan struct{}) { close(hurry) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				r.start("p")
				ctx, cancel := context.WithCancelCause(t.Context())
				hurry := make(chan struct{})
				reading, _ := r.table.Read(&protocol.ReadParams{ProcessID: "p", WaitMs: new(uint64(1<<64 - 1))})
				pending := reading.Pending
				time.AfterFunc(time.Hour, func() { end(r, cancel, hurry) })
				began := time.Now()
				err := pending.Wait(ctx, hurry)
				if err == nil {
					reading, err = pending.Read()
				}
				result := reading.Result
				if took := time.Since(began); took != time.Hour {
					t.Errorf("ended after %v", took)
				}
				switch name {
				case "cancel":
					if err == nil || err.Error() != "gone" {
						t.Errorf("got error %v", err)
					}
				case "table closed":
					wantError(t, err, protocol.CodeInvalidRequest, "unknown process id p")
				default:
					if err != nil || result.NextSeq != 1 || result.Chunks == nil || len(result.Chunks) != 0 {
						t.Errorf("got %+v, error %v", result, err)
					}
				}
			})
		})
	}
}

func TestRetention(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		child := r.start("p")
		child.events.Exited(0)
		time.Sleep(time.Hour) // an exited process is not forgotten
		child.events.Output(spawn.Stdout, []byte("late"))
		child.events.Closed()
		time.Sleep(79 * time.Second)
		if got := r.read("p", 1); got.NextSeq != 4 {
			t.Errorf("%+v", got)
		}
		_, err := r.table.Start(&protocol.StartParams{ProcessID: "p"})
		wantError(t, err, protocol.CodeInvalidRequest, "process p already exists")
		time.Sleep(time.Second)
		synctest.Wait()
		_, err = r.table.Read(&protocol.ReadParams{ProcessID: "p"})
		wantError(t, err, protocol.CodeInvalidRequest, "unknown process id p")
		if got := r.write("p", "w", "x"); got != protocol.WriteUnknownProcess {
			t.Errorf("write: %s", got)
		}
		r.start("p") // the id is free again
	})
}

func TestStarting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.launcher.gate = make(chan struct{})
		s, err := r.table.Start(&protocol.StartParams{ProcessID: "p", PipeStdin: true})
		if err != nil {
			t.Fatal(err)
		}
		started := run(s)
		_, err = r.table.Read(&protocol.ReadParams{ProcessID: "p"})
		wantError(t, err, protocol.CodeInvalidRequest, "process id p is starting")
		if got := r.write("p", "w", "x"); got != protocol.WriteStarting {
			t.Errorf("write: %s", got)
		}
		wantError(t, r.table.CloseStdin(&protocol.CloseStdinParams{ProcessID: "p"}),
			protocol.CodeInvalidRequest, "process id p is starting")
		if err := r.table.Signal(&protocol.SignalParams{ProcessID: "p"}); err != nil {
			t.Error(err)
		}
		_, err = r.table.Start(&protocol.StartParams{ProcessID: "p"})
		wantError(t, err, protocol.CodeInvalidRequest, "process p already exists")

		close(r.launcher.gate)
		if err := <-started; err != nil {
			t.Error(err)
		}
		if got := r.read("p", 0); got.NextSeq != 1 {
			t.Errorf("%+v", got)
		}
	})
}

func TestTerminateWhileStarting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.launcher.gate = make(chan struct{})
		s, _ := r.table.Start(&protocol.StartParams{ProcessID: "p"})
		started := run(s)
		if !r.table.Terminate(&protocol.TerminateParams{ProcessID: "p"}) {
			t.Error("terminate: not running")
		}
		wantError(t, <-started, protocol.CodeInvalidRequest, "process p start was cancelled")
		if r.table.Terminate(&protocol.TerminateParams{ProcessID: "p"}) {
			t.Error("terminate again: running")
		}
	})
}

// deafLauncher launches whether it is canceled or not.
type deafLauncher struct {
	*fakeLauncher
	gate chan struct{}
}

func (l deafLauncher) Launch(_ context.Context, params *protocol.StartParams, adopt func(Child) spawn.Events) (Confined, error) {
	<-l.gate
	return l.fakeLauncher.Launch(context.Background(), params, adopt)
}

// TestLateStartLeavesNewcomer: a start that was terminated, and comes to an end
// when its id has been taken again, kills its own child only.
func TestLateStartLeavesNewcomer(t *testing.T) {
	for _, fails := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			slow := deafLauncher{newFakeLauncher(), make(chan struct{})}
			if fails {
				slow.fail = protocol.WithKind(protocol.CodeInternal, protocol.KindSpawnNotFound, "not there")
			}
			r.table.launcher = slow
			old, _ := r.table.Start(&protocol.StartParams{ProcessID: "p"})
			started := run(old)
			synctest.Wait()
			r.table.Terminate(&protocol.TerminateParams{ProcessID: "p"})
			r.table.launcher = r.launcher
			newcomer := r.start("p")

			close(slow.gate)
			if err := <-started; fails {
				wantError(t, err, protocol.CodeInternal, "not there")
			} else {
				wantError(t, err, protocol.CodeInvalidRequest, "process p start was cancelled")
				<-(<-slow.children).killed
			}
			newcomer.events.Output(spawn.Stdout, []byte("mine"))
			if got := r.read("p", 0); len(got.Chunks) != 1 {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestFailedStartFreesTheID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.launcher.fail = protocol.WithKind(protocol.CodeInternal, protocol.KindSpawnNotFound, "not there")
		s, _ := r.table.Start(&protocol.StartParams{ProcessID: "p"})
		_, err := s.Run()
		wantError(t, err, protocol.CodeInternal, "not there")
		r.launcher.fail = nil
		r.start("p")
	})
}

func TestTerminate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		child := r.start("p")
		if !r.table.Terminate(&protocol.TerminateParams{ProcessID: "p"}) {
			t.Error("not running")
		}
		<-child.killed
		_, err := r.table.Write(&protocol.WriteParams{ProcessID: "p", WriteID: "w", Chunk: []byte("x")})
		wantError(t, err, protocol.CodeInternal, "failed to write to process stdin")
		synctest.Wait()
		if got := r.read("p", 0); got.ExitCode == nil || *got.ExitCode != 137 || !got.Closed {
			t.Errorf("%+v", got)
		}
		if r.table.Terminate(&protocol.TerminateParams{ProcessID: "p"}) {
			t.Error("running, after the close")
		}
	})
}

// TestTerminateExited: what an exited process has left behind lives on.
func TestTerminateExited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		child := r.start("p")
		child.events.Exited(4)
		if r.table.Terminate(&protocol.TerminateParams{ProcessID: "p"}) {
			t.Error("running")
		}
		select {
		case <-child.killed:
			t.Error("killed")
		default:
		}
		child.events.Closed()
	})
}

func TestSignal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		child := r.start("p")
		signal := func() error {
			return r.table.Signal(&protocol.SignalParams{ProcessID: "p", Signal: protocol.SignalInterrupt})
		}
		if err := signal(); err != nil || len(child.signals) != 1 {
			t.Errorf("%d signals, error %v", len(child.signals), err)
		}
		child.signalError = errors.New("no permission")
		wantError(t, signal(), protocol.CodeInternal, "failed to signal process: no permission")
		child.events.Exited(0)
		if err := signal(); err != nil || len(child.signals) != 2 {
			t.Errorf("%d signals, error %v", len(child.signals), err)
		}
		child.events.Closed()
	})
}

func TestProcessLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		for i := range 50 {
			r.start(fmt.Sprint(i))
		}
		_, err := r.table.Start(&protocol.StartParams{ProcessID: "more"})
		if e, ok := errors.AsType[*protocol.Error](err); !ok || !strings.Contains(e.Message, "50 processes") {
			t.Errorf("got error %v", err)
		}
		_, err = r.table.Start(&protocol.StartParams{ProcessID: "0"})
		wantError(t, err, protocol.CodeInvalidRequest, "process 0 already exists")
	})
}

func TestGapIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		child := r.start("p")
		block := bytes.Repeat([]byte{'x'}, limits.ChunkBytes)
		const blocks = limits.RetainedBytes/limits.ChunkBytes + 3
		for range blocks {
			child.events.Output(spawn.Stdout, block)
		}
		got := r.read("p", 0)
		want := &protocol.ReadExtra{
			FirstSeq:     4,
			DroppedBytes: map[protocol.Stream]uint64{protocol.StreamStdout: 3 * limits.ChunkBytes},
		}
		if diff := cmp.Diff(want, got.Airlock); diff != "" {
			t.Error(diff)
		}
		if got.Chunks[0].Seq != 4 || got.NextSeq != blocks+1 {
			t.Errorf("from %d, next %d", got.Chunks[0].Seq, got.NextSeq)
		}
		if got := r.read("p", 3); got.Airlock != nil {
			t.Errorf("a gap before what was asked for: %+v", got.Airlock)
		}
		child.events.Exited(0)
		for range limits.RetainedBytes / limits.ChunkBytes {
			child.events.Output(spawn.Stdout, block)
		}
		// Only the exit is missing between the newest that was dropped and
		// the oldest that is kept.
		if got := r.read("p", blocks); got.Airlock != nil || got.Chunks[0].Seq != blocks+2 {
			t.Errorf("from %d, a gap: %+v", got.Chunks[0].Seq, got.Airlock)
		}
		child.events.Closed()
	})
}

func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		running := r.start("running")
		left := r.start("exited")
		left.events.Exited(0)
		left.ended = true
		done := r.start("closed")
		done.end(0)
		r.launcher.gate = make(chan struct{})
		slow, _ := r.table.Start(&protocol.StartParams{ProcessID: "starting"})
		started := run(slow)

		// An exited process closes when its streams have been given up.
		go func() { <-left.killed; left.events.Closed() }()
		r.table.Close()
		<-running.killed
		wantError(t, <-started, protocol.CodeInvalidRequest, "process starting start was cancelled")
		if !r.launcher.closed.Load() {
			t.Error("what processes have left behind lives on")
		}
		_, err := r.table.Read(&protocol.ReadParams{ProcessID: "running"})
		wantError(t, err, protocol.CodeInvalidRequest, "unknown process id running")
		_, err = r.table.Start(&protocol.StartParams{ProcessID: "new"})
		wantError(t, err, protocol.CodeInvalidRequest, "process new start was cancelled")
	})
}

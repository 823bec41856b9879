package process

import (
	"errors"
	"strconv"
	"testing"
	"testing/synctest"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
)

// TestBudget: what processes have not read is bounded for all of them together, and
// counts no longer than it is there.
func TestBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		eighth := make([]byte, limits.QueuedInputBytes/8)
		wantHeld := func(eighths int64) {
			t.Helper()
			synctest.Wait()
			if got := r.table.config.Input.used.Load(); got != eighths*int64(len(eighth)) {
				t.Errorf("%d bytes are counted, want %d eighths", got, eighths)
			}
		}
		given := func(id string) *protocol.StartParams {
			return &protocol.StartParams{ProcessID: id, Airlock: &protocol.StartExtra{Stdin: (*protocol.Bytes)(&eighth)}}
		}

		r.launcher.fail = errors.New("not there")
		s, err := r.table.Start(given("failing"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Run(); err == nil {
			t.Fatal("it has been started")
		}
		r.launcher.fail = nil
		wantHeld(0)

		var children []*fakeChild
		for i := range 7 {
			id := strconv.Itoa(i)
			child := r.start(id)
			child.full = make(chan struct{}) // it does not read
			children = append(children, child)
			r.write(id, "w", string(eighth))
		}
		if _, err := r.table.Start(given("1")); err == nil {
			t.Error("an id has been taken twice")
		}
		wantHeld(7)
		r.start("small")
		r.launcher.gate = make(chan struct{})
		s, err = r.table.Start(given("starting"))
		if err != nil {
			t.Fatal(err)
		}
		done := run(s)
		wantHeld(8)
		_, err = r.table.Start(given("refused"))
		wantError(t, err, protocol.CodeInternal, errNoBudget(len(eighth)).Error())
		_, err = r.table.Write(&protocol.WriteParams{ProcessID: "small", WriteID: "w", Chunk: []byte("x")})
		wantError(t, err, protocol.CodeInternal, errNoBudget(1).Error())
		wantHeld(8)

		close(children[0].full) // it reads
		children[1].Kill()
		wantHeld(6)
		r.table.Terminate(&protocol.TerminateParams{ProcessID: "starting"})
		<-done
		wantHeld(5)
		r.table.Close()
		wantHeld(0)
	})
}

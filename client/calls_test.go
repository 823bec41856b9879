package client

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/airlock-exec/airlock/internal/transport"
	"github.com/airlock-exec/airlock/protocol"
)

// once returns a hook that cuts at the first call of a method.
func once(method string) func(string) bool {
	done := false
	return func(m string) bool {
		cut := m == method && !done
		done = done || cut
		return cut
	}
}

// TestCallsAcrossCuts: a call is repeated if that does no harm, whether it had
// been carried out or not, and has its effect once.
func TestCallsAcrossCuts(t *testing.T) {
	ask := func(e Executor, p *Process, method string) error {
		switch method {
		case protocol.MethodEnvironmentStatus:
			_, err := e.Status(context.Background())
			return err
		case protocol.MethodProcessRead:
			_, err := p.Read(context.Background(), protocol.ReadParams{AfterSeq: new(uint64)})
			return err
		case protocol.MethodProcessWrite:
			return p.Write(context.Background(), []byte("hello"))
		case protocol.MethodProcessTerminate:
			_, err := p.Terminate(context.Background())
			return err
		default:
			return p.Signal(context.Background(), protocol.SignalInterrupt)
		}
	}
	for _, test := range []struct {
		method string
		err    error
	}{
		{protocol.MethodEnvironmentStatus, nil},
		{protocol.MethodProcessRead, nil},
		{protocol.MethodProcessWrite, nil},
		{protocol.MethodProcessTerminate, nil},
		{protocol.MethodProcessSignal, ErrOutcomeUnknown},
	} {
		for _, when := range []string{"before", "after"} {
			t.Run(test.method+" "+when, func(t *testing.T) {
				kinds(t, func(t *testing.T, f *fake) {
					e := open(t, f, Options{})
					p := begin(t, e, "p")
					if when == "before" {
						f.before = once(test.method)
					} else {
						f.after = once(test.method)
					}
					if err := ask(e, p, test.method); !errors.Is(err, test.err) {
						t.Errorf("got %v", err)
					}
					want := 2
					if test.err != nil {
						want = 1
					}
					// An executor that does not pace itself is also read at once.
					if n := f.calls(test.method); n != want && test.method != protocol.MethodProcessRead {
						t.Errorf("asked %d times", n)
					}
					if input := f.procs["p"].input; test.method == protocol.MethodProcessWrite && input != "hello" {
						t.Errorf("written: %q", input)
					}
					if n := f.procs["p"].signals; n > 1 {
						t.Errorf("%d signals", n)
					}
				})
			})
		}
	}
}

// TestCallsWaitForTheConnection: as long as their context allows.
func TestCallsWaitForTheConnection(t *testing.T) {
	kinds(t, func(t *testing.T, f *fake) {
		e := open(t, f, Options{})
		p := begin(t, e, "p")
		f.mu.Lock()
		f.unreachable = true
		f.mu.Unlock()
		f.cut()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		began := time.Now()
		for name, call := range map[string]func() error{
			"status": func() error { _, err := e.Status(ctx); return err },
			"signal": func() error { return p.Signal(ctx, protocol.SignalInterrupt) },
			"write":  func() error { return p.Write(ctx, []byte("x")) },
			"next":   func() error { _, err := p.Next(ctx); return err },
		} {
			if err := call(); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 5*time.Second {
				t.Errorf("%s: %v after %v", name, err, time.Since(began))
			}
		}
		f.mu.Lock()
		f.unreachable = false
		f.mu.Unlock()
		if err := p.Signal(t.Context(), protocol.SignalInterrupt); err != nil || f.procs["p"].signals != 1 {
			t.Errorf("signal: %v", err)
		}
	})
}

// TestUnknownProcess: errors to branch on.
func TestUnknownProcess(t *testing.T) {
	kinds(t, func(t *testing.T, f *fake) {
		e := open(t, f, Options{})
		p := e.Process("nope")
		_, nextErr := p.Next(t.Context())
		_, readErr := p.Read(t.Context(), protocol.ReadParams{AfterSeq: new(uint64)})
		_, wakeErr := e.Process("nope").Wake(t.Context(), 0)
		_, outErr := e.Process("nope").Stdout().Read(make([]byte, 1))
		var eventsErr error
		for _, err := range e.Process("nope").Events(t.Context(), 0) {
			eventsErr = err
		}
		for name, err := range map[string]error{
			"next": nextErr, "read": readErr, "wake": wakeErr, "events": eventsErr, "stdout": outErr,
			"write": p.Write(t.Context(), []byte("x")),
		} {
			if !errors.Is(err, ErrUnknownProcess) {
				t.Errorf("%s: %v", name, err)
			}
			if refused := refusal(err); name != "write" && (refused == nil || refused.Code != protocol.CodeInvalidRequest) {
				t.Errorf("%s: %v has no code", name, err)
			}
		}
	})
}

// mute is a connection that can die without anybody being told.
type mute struct {
	transport.Conn
	dead *atomic.Bool
}

func (m mute) Write(batch [][]byte) error {
	if m.dead.Load() {
		return nil
	}
	return m.Conn.Write(batch)
}

func (m mute) Probe() {
	if m.dead.Load() {
		m.Close(transport.ErrPingTimeout)
	}
}

// TestSilentDeath: a call that waits for long finds out that nobody is there,
// and is repeated.
func TestSilentDeath(t *testing.T) {
	kinds(t, func(t *testing.T, f *fake) {
		var first *atomic.Bool
		e := open(t, connectorFunc(func(ctx context.Context) (transport.Conn, error) {
			conn, err := f.Connect(ctx)
			m := mute{conn, new(atomic.Bool)}
			if first == nil {
				first = m.dead
			}
			return m, err
		}), Options{})
		first.Store(true)
		began := time.Now()
		if _, err := e.Status(t.Context()); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took < probeTime || took > probeTime+firstPause {
			t.Errorf("after %v", took)
		}
	})
}

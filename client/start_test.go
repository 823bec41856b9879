package client

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/airlock-exec/airlock/protocol"
)

// TestStartAcrossCuts: a process is started once, and its events are all there.
func TestStartAcrossCuts(t *testing.T) {
	for _, test := range []struct {
		name    string
		prepare func(f *fake)
		starts  int
		known   bool // the sandbox type
	}{
		{"not begun", func(f *fake) { f.before = once(protocol.MethodProcessStart) }, 2, true},
		{"begun", func(f *fake) { f.after = once(protocol.MethodProcessStart) }, 2, false},
		{
			"begun and not finished for a while",
			func(f *fake) {
				cut := once(protocol.MethodProcessStart)
				f.after = func(m string) bool {
					if !cut(m) {
						return false
					}
					f.procs["p"].starting = true
					time.AfterFunc(3*time.Second, func() {
						f.mu.Lock()
						defer f.mu.Unlock()
						f.procs["p"].starting = false
					})
					return true
				}
			},
			2, false,
		},
		{
			"begun, and then failed",
			func(f *fake) {
				cut := once(protocol.MethodProcessStart)
				f.after = func(m string) bool {
					if !cut(m) {
						return false
					}
					f.procs["p"].starting = true
					time.AfterFunc(time.Second, func() {
						f.mu.Lock()
						defer f.mu.Unlock()
						delete(f.procs, "p")
					})
					return true
				}
			},
			3, true,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			kinds(t, func(t *testing.T, f *fake) {
				e := open(t, f, Options{})
				test.prepare(f)
				p := begin(t, e, "p")
				if n := f.calls(protocol.MethodProcessStart); n != test.starts {
					t.Errorf("started %d times", n)
				}
				if known := p.SandboxType() == protocol.SandboxNone; known != test.known {
					t.Errorf("sandbox type %q", p.SandboxType())
				}
				f.happen(f.procs["p"], out("a"), Event{Kind: Exited}, Event{Kind: Closed})
				if got, want := follow(t, p), "o1:a x2 c3"; got != want {
					t.Errorf("got %s, want %s", got, want)
				}
			})
		})
	}
}

// TestForgottenStart: an executor other than Airlock forgets a start whose
// connection is lost, but keeps its id. The id is freed and the process started.
func TestForgottenStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		e := open(t, f, Options{})
		cut := once(protocol.MethodProcessStart)
		f.after = func(m string) bool {
			if cut(m) {
				f.procs["p"].starting = true
				return true
			}
			return false
		}
		began := time.Now()
		p := begin(t, e, "p")
		if took := time.Since(began); took < startingTimeout || took > startingTimeout+time.Second {
			t.Errorf("started after %v", took)
		}
		f.happen(f.procs["p"], out("a"), Event{Kind: Exited}, Event{Kind: Closed})
		if got, want := follow(t, p), "o1:a x2 c3"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

// TestStartErrors: refusals are typed, and a start that was given up is undone.
func TestStartErrors(t *testing.T) {
	kinds(t, func(t *testing.T, f *fake) {
		e := open(t, f, Options{})
		f.process("there")
		if _, err := e.Start(t.Context(), startParams("there")); !errors.Is(err, ErrProcessExists) || refusal(err) == nil {
			t.Errorf("a process of another program: %v", err)
		}
		begin(t, e, "p")
		if _, err := e.Start(t.Context(), startParams("p")); !errors.Is(err, ErrProcessExists) || refusal(err) != nil {
			t.Errorf("a process of ours: %v", err)
		}
		if _, err := e.Start(t.Context(), startParams("\xff")); err == nil || !strings.Contains(err.Error(), "UTF-8") {
			t.Errorf("an id that can't be sent: %v", err)
		}

		f.unreachable = true
		f.cut()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		if _, err := e.Start(ctx, startParams("q")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if took := time.Since(began); took > time.Second+undoTimeout {
			t.Errorf("given up after %v", took)
		}
		if e.find("q") != nil {
			t.Error("the process is not forgotten")
		}

		// A start that was never sent is not undone: the id may be another's.
		connected := make(chan struct{})
		time.AfterFunc(undoTimeout/2, func() {
			f.mu.Lock()
			f.unreachable = false
			f.mu.Unlock()
			close(connected)
		})
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := e.Start(ended, startParams("there")); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		<-connected
		if _, err := e.Status(t.Context()); err != nil {
			t.Error(err)
		}
		if n := f.calls(protocol.MethodProcessTerminate); n != 0 {
			t.Errorf("%d processes were terminated", n)
		}
	})
}

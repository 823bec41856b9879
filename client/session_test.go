package client

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/airlock-exec/airlock/internal/transport"
	"github.com/airlock-exec/airlock/protocol"
)

// open connects to a fake, and sees to it that everything ends with the test.
func open(t *testing.T, c Connector, options Options) *executor {
	t.Helper()
	e, err := connect(t.Context(), c, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// kinds runs a test with a fake that paces itself, and one that does not.
func kinds(t *testing.T, test func(t *testing.T, f *fake)) {
	for name, features := range map[string][]string{"paced": pacing, "not paced": nil} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, newFake(t, features...)) })
		})
	}
}

func begin(t *testing.T, e Executor, id string) *Process {
	t.Helper()
	p, err := e.Start(t.Context(), startParams(id))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func startParams(id string) *protocol.StartParams {
	cwd, _ := protocol.ParsePathURI("file:///")
	return &protocol.StartParams{ProcessID: id, Argv: []string{"x"}, CWD: cwd}
}

func out(text string) Event {
	return Event{Kind: Output, Stream: protocol.StreamStdout, Data: []byte(text)}
}

// follow takes events up to the close and writes them down.
func follow(t *testing.T, p *Process) string {
	t.Helper()
	var all []string
	for {
		e, err := p.Next(t.Context())
		if errors.Is(err, io.EOF) {
			return strings.Join(all, " ")
		}
		if err != nil {
			t.Fatalf("after %s: %v", all, err)
		}
		text := describe(e)
		if e.Kind == Output {
			text += ":" + string(e.Data)
		}
		all = append(all, text)
	}
}

// TestGoesOn: what happens while there is no connection comes in its place.
func TestGoesOn(t *testing.T) {
	kinds(t, func(t *testing.T, f *fake) {
		told := make(chan error, 10)
		e := open(t, f, Options{Name: "me", OnConnection: func(err error) { told <- err }})
		p := begin(t, e, "p")
		q := f.procs["p"]
		f.happen(q, out("a"), out("b"))
		synctest.Wait()
		f.cut()
		f.happen(q, out("c"), Event{Kind: Exited, ExitCode: 3}, out("d"))
		time.Sleep(time.Second)
		f.happen(q, out("e"), Event{Kind: Closed})
		if got, want := follow(t, p), "o1:a o2:b o3:c x4 o5:d o6:e c7"; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if code, err := p.Wait(t.Context()); err != nil || code != 3 {
			t.Errorf("exit code %d, error %v", code, err)
		}
		if len(f.opened) != 2 {
			t.Fatalf("%d connections", len(f.opened))
		}
		first, second := f.opened[0], f.opened[1]
		if first.ResumeSessionID != nil || first.Airlock.Takeover || first.Airlock.Window != windowBytes || first.ClientName != "me" {
			t.Errorf("opened with %+v", first)
		}
		if *second.ResumeSessionID != fakeSession || !second.Airlock.Takeover || second.Airlock.Window != windowBytes {
			t.Errorf("resumed with %+v", second)
		}
		if lost, again := <-told, <-told; !errors.Is(lost, errCut) || again != nil || len(told) > 0 {
			t.Errorf("told of connections: %v, %v", lost, again)
		}
		if e.find("p") != nil {
			t.Error("the process is not forgotten")
		}
	})
}

// timed counts connections and when they were tried.
type timed struct {
	Connector
	times []time.Time
}

func (c *timed) Connect(ctx context.Context) (transport.Conn, error) {
	c.times = append(c.times, time.Now())
	return c.Connector.Connect(ctx)
}

// TestBackoff: attempts come at growing distances, until the time is over.
func TestBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, pacing...)
		c := &timed{Connector: f}
		e := open(t, c, Options{})
		p := begin(t, e, "p")
		f.unreachable = true
		f.cut()
		lost := time.Now()
		_, err := p.Next(t.Context())
		if !errors.Is(err, ErrDisconnected) || !errors.Is(err, errUnreachable) || time.Since(lost) != reconnectTimeout {
			t.Errorf("%v after %v", err, time.Since(lost))
		}
		before := lost
		for n, at := range c.times[1:] {
			longest := min(firstPause<<min(n, 10), longestPause)
			if pause := at.Sub(before); pause < longest/2 || pause > longest {
				t.Errorf("pause %d: %v", n, pause)
			}
			before = at
		}
		if n := len(c.times); n < 40 || n > 80 {
			t.Errorf("%d connections", n)
		}
		if _, err := e.Status(t.Context()); !errors.Is(err, ErrDisconnected) {
			t.Errorf("a call then: %v", err)
		}
		if _, err := e.Start(t.Context(), startParams("q")); !errors.Is(err, ErrDisconnected) {
			t.Errorf("a start then: %v", err)
		}
		if _, err := e.Process("q").Next(t.Context()); !errors.Is(err, ErrDisconnected) {
			t.Errorf("another process then: %v", err)
		}
	})
}

// TestRefusedResume: what an executor may answer to a resume.
func TestRefusedResume(t *testing.T) {
	attached := protocol.Errorf(protocol.CodeSessionAttached, "session x is already attached to another connection")
	unknown := protocol.Errorf(protocol.CodeInvalidRequest, "unknown session id x")
	for _, test := range []struct {
		name     string
		options  Options
		answers  []error // to the resumes, one after the other; then all is well
		goodbye  bool
		lost     error // what the session ends with, or nil
		within   time.Duration
		takeover bool
	}{
		{name: "attached for a while", answers: []error{attached, attached, attached}, within: time.Second, takeover: true},
		{name: "another error", answers: []error{errors.New("shutting down")}, within: time.Second, takeover: true},
		{name: "unknown", answers: []error{unknown}, lost: ErrSessionLost, within: firstPause, takeover: true},
		{name: "unknown in the end", answers: []error{attached, unknown}, lost: ErrSessionLost, within: time.Second, takeover: true},
		{name: "not wanted", options: Options{ReconnectTimeout: -1}, lost: ErrDisconnected, within: 1},
		{
			name: "not in time", options: Options{ReconnectTimeout: 10 * time.Millisecond},
			lost: ErrDisconnected, within: 10 * time.Millisecond,
		},
		{name: "another program has taken it", goodbye: true, answers: []error{attached}, within: time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t, pacing...)
				var c Connector = f
				if test.goodbye {
					c = polite{f}
				}
				e := open(t, c, test.options)
				p := begin(t, e, "p")
				n := 0
				f.refuse = func(*protocol.InitializeParams) error {
					if n++; n <= len(test.answers) {
						return test.answers[n-1]
					}
					return nil
				}
				f.cut()
				began := time.Now()
				_, err := e.Status(t.Context())
				if !errors.Is(err, test.lost) || time.Since(began) > test.within {
					t.Errorf("got %v after %v", err, time.Since(began))
				}
				if test.lost != nil {
					if _, err := p.Next(t.Context()); !errors.Is(err, test.lost) {
						t.Errorf("the process: %v", err)
					}
				}
				if test.lost == ErrSessionLost && refusal(err) == nil {
					t.Errorf("without the answer: %v", err)
				}
				for _, params := range f.opened[1:] {
					if params.Airlock.Takeover != test.takeover {
						t.Errorf("takeover: %v", params.Airlock.Takeover)
					}
				}
			})
		})
	}
}

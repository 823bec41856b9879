package session

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/airlock-exec/airlock/internal/helper/plan"
	"github.com/airlock-exec/airlock/internal/process"
	"github.com/airlock-exec/airlock/internal/spawn"
	"github.com/airlock-exec/airlock/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// child is a process that ends when it is killed.
type child struct {
	events spawn.Events
	once   sync.Once
	killed bool
	// exceeded is the limit that it will have gone beyond.
	exceeded spawn.Exceeded
	// denials and failure are what its sandbox tells.
	denials []plan.Denial
	failure *spawn.SetupFailure
}

func (*child) PID() int                            { return 1 }
func (*child) Write([]byte) error                  { return nil }
func (*child) CloseStdin()                         {}
func (*child) Resize(spawn.Size) error             { return nil }
func (*child) Signal(spawn.Signal) (bool, error)   { return true, nil }
func (*child) Lingered() bool                      { return false }
func (*child) Silent() <-chan struct{}             { return nil }
func (c *child) Denials() []plan.Denial            { return c.denials }
func (c *child) SetupFailure() *spawn.SetupFailure { return c.failure }
func (*child) Mechanisms() (none spawn.Mechanisms) { return none }
func (c *child) Exceeded() spawn.Exceeded          { return c.exceeded }
func (c *child) Terminate(context.Context, time.Duration) (killed, survivors []int) {
	c.Kill()
	return []int{1}, []int{}
}

func (c *child) Kill() {
	c.once.Do(func() {
		c.killed = true
		c.events.Exited(137)
		c.events.Closed()
	})
}

// launcher remembers the newest child.
type launcher struct{ newest *child }

func (*launcher) Close()                               {}
func (*launcher) Usages([]process.Child) []spawn.Usage { return nil }
func (*launcher) Check(*protocol.StartParams) error    { return nil }
func (l *launcher) Launch(_ context.Context, _ *protocol.StartParams, adopt func(process.Child) spawn.Events) (none process.Confined, err error) {
	l.newest = &child{}
	l.newest.events = adopt(l.newest)
	return none, nil
}

// peer keeps what it is told.
type peer struct {
	mu     sync.Mutex
	told   []string
	stall  chan struct{} // not nil: Notify blocks until it is closed, and fails
	probes int
	closed error
}

func (p *peer) Notify(build func([]byte) []byte) error {
	if p.stall != nil {
		<-p.stall
		return errors.New("gone")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.told = append(p.told, string(build(nil)))
	return nil
}

func (*peer) Flush() {}

func (p *peer) Probe() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.probes++
}

func (p *peer) Close(reason error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = reason
	if p.stall != nil {
		close(p.stall)
	}
}

type rig struct {
	*testing.T
	*Registry
	launcher *launcher
}

func newRig(t *testing.T) *rig {
	r := &rig{T: t, launcher: &launcher{}}
	r.Registry = NewRegistry(Config{
		TTL: 80 * time.Second, MaxSessions: 3,
		NewTable: func() *process.Table {
			return process.NewTable(process.Config{Retention: time.Minute, MaxProcesses: 10, Features: protocol.Features()}, r.launcher)
		},
	})
	t.Cleanup(r.Close)
	return r
}

func (r *rig) create(p *peer) *Attachment {
	r.Helper()
	a, err := r.Create(p, Options{})
	if err != nil {
		r.Fatal(err)
	}
	return a
}

func (r *rig) start(a *Attachment, id string) *child {
	r.Helper()
	s, err := a.Session().Processes().Start(&protocol.StartParams{ProcessID: id})
	if err != nil {
		r.Fatal(err)
	}
	if _, err := s.Run(); err != nil {
		r.Fatal(err)
	}
	s.Announce()
	return r.launcher.newest
}

// TestReason: the exit tells why, if it was a limit.
func TestReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		p := &peer{}
		a := r.create(p)
		a.Announce()
		child := r.start(a, "p")
		child.exceeded = spawn.ExceededMemory
		child.Kill()
		synctest.Wait()
		want := []string{
			`{"method":"process/exited","params":{"processId":"p","seq":1,"exitCode":137,"sandboxDenied":false,"airlock":{"reason":"memory"}}}`,
			`{"method":"process/closed","params":{"processId":"p","seq":2}}`,
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		if diff := cmp.Diff(want, p.told); diff != "" {
			t.Error(diff)
		}
	})
}

// TestSandbox: the exit tells what is known of the sandbox.
func TestSandbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		p := &peer{}
		a := r.create(p)
		a.Announce()
		for _, id := range []string{"p", "q"} {
			s, err := a.Session().Processes().Start(&protocol.StartParams{
				ProcessID: id, Sandbox: protocol.FullAccessSandbox(), Airlock: &protocol.StartExtra{},
			})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Run(); err != nil {
				t.Fatal(err)
			}
			s.Announce()
			child := r.launcher.newest
			if id == "p" {
				child.events.Output(spawn.Stderr, []byte("sandbox\n"))
				child.denials = []plan.Denial{{What: "connect", Path: "/s", Count: 2}}
			} else {
				child.failure = &spawn.SetupFailure{Stage: "mounts", Message: "no"}
			}
			child.Kill()
			synctest.Wait()
		}
		want := []string{
			`{"method":"process/output","params":{"processId":"p","seq":1,"stream":"stderr","chunk":"c2FuZGJveAo="}}`,
			`{"method":"process/exited","params":{"processId":"p","seq":2,"exitCode":137,"sandboxDenied":true,"airlock":{"denials":[{"what":"connect","path":"/s","count":2}]}}}`,
			`{"method":"process/closed","params":{"processId":"p","seq":3}}`,
			`{"method":"process/exited","params":{"processId":"q","seq":1,"exitCode":137,"sandboxDenied":false,"airlock":{"setupError":{"stage":"mounts","message":"no"}}}}`,
			`{"method":"process/closed","params":{"processId":"q","seq":2}}`,
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		if diff := cmp.Diff(want, p.told); diff != "" {
			t.Error(diff)
		}
	})
}

func TestNotifications(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		p := &peer{}
		a := r.create(p)
		c := r.start(a, `p"1`)
		c.events.Output(spawn.Stdout, []byte("abc\n"))
		synctest.Wait()
		if p.told != nil {
			t.Errorf("told before the session was announced: %v", p.told)
		}
		a.Announce()
		synctest.Wait()
		c.events.Output(spawn.Stderr, []byte{0xff})
		synctest.Wait()
		c.events.Exited(3)
		c.events.Closed()
		synctest.Wait()
		if diff := cmp.Diff([]string{
			`{"method":"process/output","params":{"processId":"p\"1","seq":1,"stream":"stdout","chunk":"YWJjCg=="}}`,
			`{"method":"process/output","params":{"processId":"p\"1","seq":2,"stream":"stderr","chunk":"/w=="}}`,
			`{"method":"process/exited","params":{"processId":"p\"1","seq":3,"exitCode":3,"sandboxDenied":false}}`,
			`{"method":"process/closed","params":{"processId":"p\"1","seq":4}}`,
		}, p.told); diff != "" {
			t.Error(diff)
		}
		a.Detach()
	})
}

func TestResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		first := r.create(&peer{})
		first.Announce()
		c := r.start(first, "p")
		id := first.Session().ID()

		_, err := r.Resume(id, &peer{}, Options{})
		if e, ok := errors.AsType[*protocol.Error](err); !ok || e.Code != protocol.CodeSessionAttached ||
			e.Message != "session "+id+" is already attached to another connection" {
			t.Errorf("resume while attached: %v", err)
		}
		first.Detach()
		c.events.Output(spawn.Stdout, []byte("missed"))
		time.Sleep(79 * time.Second)

		p := &peer{}
		second, err := r.Resume(id, p, Options{})
		if err != nil {
			t.Fatal(err)
		}
		second.Announce()
		c.events.Output(spawn.Stdout, []byte("seen"))
		synctest.Wait()
		if len(p.told) != 1 || !strings.Contains(p.told[0], `"seq":2`) {
			t.Errorf("told %v", p.told)
		}
		time.Sleep(time.Hour) // an attached session does not expire
		if c.killed {
			t.Error("killed")
		}
		first.Detach() // a late one, which is not attached any more
		time.Sleep(time.Hour)
		if c.killed {
			t.Error("killed after a late detach")
		}
		second.Detach()
	})
}

// TestResumeProbes: a peer that is in the way of another one has to show that it
// is still there.
func TestResumeProbes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		p := &peer{}
		a := r.create(p)
		for range 2 {
			if _, err := r.Resume(a.Session().ID(), &peer{}, Options{}); err == nil {
				t.Error("resumed a session that is attached")
			}
		}
		if p.probes != 2 || p.closed != nil {
			t.Errorf("probed %d times, closed: %v", p.probes, p.closed)
		}
	})
}

// TestTakeover: the session goes to the one who asks for it, at once, also if
// the other one hangs.
func TestTakeover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		hung := &peer{stall: make(chan struct{})}
		first := r.create(hung)
		first.Announce()
		c := r.start(first, "p")
		c.events.Output(spawn.Stdout, []byte("lost on the way"))
		synctest.Wait()

		p := &peer{}
		second, err := r.Resume(first.Session().ID(), p, Options{Takeover: true})
		if err != nil {
			t.Fatal(err)
		}
		second.Announce()
		synctest.Wait()
		if !errors.Is(hung.closed, ErrTakenOver) {
			t.Errorf("the other peer is closed because of %v", hung.closed)
		}
		first.Detach() // its connection has ended
		c.events.Output(spawn.Stdout, []byte("seen"))
		time.Sleep(time.Hour)
		synctest.Wait()
		if len(p.told) != 1 || !strings.Contains(p.told[0], `"seq":2`) || c.killed {
			t.Errorf("told %v, killed: %v", p.told, c.killed)
		}
		second.Detach()
	})
}

// TestWindow: no more is told than the peer has room for, one chunk excepted, but
// what else happens is.
func TestWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		p := &peer{}
		a, err := r.Create(p, Options{Window: 5})
		if err != nil {
			t.Fatal(err)
		}
		a.Announce()
		c, other := r.start(a, "p"), r.start(a, "other")
		told := func(want int) {
			t.Helper()
			synctest.Wait()
			if len(p.told) != want {
				t.Fatalf("told %d messages, want %d: %v", len(p.told), want, p.told)
			}
		}
		write := func(s string) {
			c.events.Output(spawn.Stdout, []byte(s))
			synctest.Wait()
		}
		write("1234")
		write("5678")
		told(2)
		write("held back")
		told(2)
		other.Kill() // needs no window
		told(4)
		a.Grant("p", 3)
		told(4)
		a.Grant("p", 1)
		told(5)
		a.Grant("p", math.MaxUint64)
		a.Grant("p", math.MaxUint64)
		a.Grant("nobody", 1)
		write("more")
		c.Kill()
		told(8)
		a.Detach()
	})
}

func TestResumeUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		a := r.create(&peer{})
		for _, id := range []string{"", "nope", strings.ToUpper(a.Session().ID())} {
			_, err := r.Resume(id, &peer{}, Options{})
			if e, ok := errors.AsType[*protocol.Error](err); !ok || e.Code != protocol.CodeInvalidRequest ||
				e.Message != "unknown session id "+id {
				t.Errorf("resume %q: %v", id, err)
			}
		}
	})
}

func TestExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		a := r.create(&peer{})
		c := r.start(a, "p")
		a.Detach()
		time.Sleep(80 * time.Second)
		synctest.Wait()
		if !c.killed {
			t.Error("the process lives on")
		}
		if _, err := r.Resume(a.Session().ID(), &peer{}, Options{}); err == nil {
			t.Error("resumed an expired session")
		}
	})
}

func TestSessionLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		for range 3 {
			r.create(&peer{}).Detach() // detached ones count too
		}
		if _, err := r.Create(&peer{}, Options{}); err == nil || !strings.Contains(err.Error(), "3 sessions") {
			t.Errorf("got %v", err)
		}
		time.Sleep(81 * time.Second)
		r.create(&peer{})
	})
}

// TestStalledPeerDoesNotHoldDetach: the pump ends with its peer.
func TestStalledPeerDoesNotHoldDetach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		p := &peer{stall: make(chan struct{})}
		a := r.create(p)
		a.Announce()
		c := r.start(a, "p")
		c.events.Output(spawn.Stdout, []byte("x"))
		synctest.Wait()
		close(p.stall)
		a.Detach()
		a.Announce() // comes too late to do anything
	})
}

func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		attached := r.create(&peer{})
		detached := r.create(&peer{})
		a, d := r.start(attached, "p"), r.start(detached, "p")
		detached.Detach()
		r.Close()
		if !a.killed || !d.killed {
			t.Errorf("killed: %v, %v", a.killed, d.killed)
		}
		if _, err := r.Create(&peer{}, Options{}); !errors.Is(err, errClosed) {
			t.Errorf("create: %v", err)
		}
		if _, err := r.Resume(attached.Session().ID(), &peer{}, Options{}); !errors.Is(err, errClosed) {
			t.Errorf("resume: %v", err)
		}
		attached.Detach()
		time.Sleep(time.Hour)
	})
}

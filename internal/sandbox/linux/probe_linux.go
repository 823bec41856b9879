package linux

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/airlock-exec/airlock/internal/helper/plan"
	"github.com/airlock-exec/airlock/internal/sandbox"
	"github.com/airlock-exec/airlock/internal/sandbox/landlock"
	"github.com/airlock-exec/airlock/internal/spawn"
)

// again is how long it is remembered that something can't be had. It may be for
// want of something that is there later, or somebody may mend it meanwhile.
const again = 10 * time.Second

// prober finds something out when it is first asked, and remembers it.
type prober struct {
	// probe finds it out; if it is not certain nothing is remembered.
	probe func() (certain bool, err error)
	start func(func()) // starts a goroutine that somebody waits for

	mu      sync.Mutex
	works   bool      // guarded by mu; for good
	err     error     // guarded by mu; what was found out last
	until   time.Time // guarded by mu; how long err holds
	running *probing  // guarded by mu; nil if none is under way
}

// check returns what is found out. All that ask at the same time wait for one
// probe, which goes on for the others when ctx is done.
func (p *prober) check(ctx context.Context) error {
	p.mu.Lock()
	if p.works || time.Now().Before(p.until) {
		defer p.mu.Unlock()
		return p.err
	}
	if p.running == nil {
		p.running = &probing{done: make(chan struct{})}
		p.start(p.run)
	}
	running := p.running
	p.mu.Unlock()
	select {
	case <-running.done:
		return running.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// probing is a probe that is under way.
type probing struct {
	done chan struct{} // closed when it has ended
	err  error         // set by then
}

func (p *prober) run() {
	certain, err := p.probe()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.works, p.err, p.until = err == nil, err, time.Now()
	if certain {
		p.until = p.until.Add(again)
	}
	p.running.err = err
	close(p.running.done)
	p.running = nil
}

// nowhere is a program that is not there: that it is not found inside shows that
// all before has worked. There is no need for any program on the host.
const nowhere = "/airlock-probe/none"

// tryNamespaces confines a program by namespaces. It is certain what becomes of that
// unless the helper was killed each time.
func (b *Backend) tryNamespaces() (certain bool, err error) {
	const attempts = 3
	for range attempts {
		if certain, err = b.tryNamespacesOnce(); certain {
			break
		}
	}
	if err != nil {
		b.config.Logger.Warn("commands can't be confined by namespaces", slog.String("why", causeOf(err)))
	} else {
		b.config.Logger.Info("commands are confined by namespaces")
	}
	return certain, err
}

func (b *Backend) tryNamespacesOnce() (certain bool, err error) {
	p := &sandbox.Plan{Kind: sandbox.Isolated, Base: plan.ReadOnly, Network: sandbox.NetworkOff, Dir: "/"}
	c, err := b.isolated(p)
	if err != nil {
		return true, err
	}
	switch failure, err := b.try(c.Confinement); {
	case err != nil:
		return true, unavailable(noNamespaces(err.Error(), err))
	case failure != nil:
		return failure.Stage != helperStage, unavailable(failedStage(failure))
	}
	return true, nil
}

// helperStage is the stage of a failure that is no answer, but the helper's end.
const helperStage = "helper"

// tryLandlock confines a program by Landlock: the whole host, read-only.
func (b *Backend) tryLandlock() error {
	p := &sandbox.Plan{
		Kind: sandbox.Isolated, Base: plan.ReadOnly, Network: sandbox.NetworkOff, Dir: "/", Readable: []string{"/"},
	}
	rules, err := landlock.Express(p, b.abi())
	if err != nil {
		return unavailable("there is no Landlock that would do: " + err.Error())
	}
	filter, err := b.filter(p)
	if err != nil {
		return err
	}
	failure, err := b.try(&plan.Confinement{Filter: filter, Landlock: rules})
	switch {
	case err != nil:
		return unavailable("confining a program by Landlock: " + err.Error())
	case failure != nil:
		return unavailable("confining a program by Landlock: " + failure.Message)
	}
	return nil
}

// try confines a program that is not there, and returns what has failed before that
// was found out.
func (b *Backend) try(c *plan.Confinement) (*spawn.SetupFailure, error) {
	group, err := b.probes()
	if err != nil {
		return nil, err
	}
	events := &probeEvents{closed: make(chan struct{})}
	var process *spawn.Process
	err = group.Start(&spawn.Command{Argv: []string{nowhere}, Dir: "/", Confinement: c}, func(p *spawn.Process) spawn.Events {
		process = p
		return events
	})
	if err != nil {
		return nil, err
	}
	<-events.closed
	if failure := process.SetupFailure(); failure != nil {
		return failure, nil
	}
	if events.code != notFound || !strings.Contains(string(events.output), nowhere) {
		return &spawn.SetupFailure{
			Stage:   helperStage,
			Message: "a program that is not there was not missed inside; instead the helper has ended: " + string(events.output),
		}, nil
	}
	return nil, nil
}

// notFound is the exit code for a program that is not there.
const notFound = 127

// probes returns the group in which probes are started.
func (b *Backend) probes() (*spawn.Group, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, unavailable("the executor is shutting down")
	}
	if b.group == nil {
		b.group = b.config.Spawner.NewGroup()
	}
	return b.group, nil
}

// probeEvents keeps what little a probe says.
type probeEvents struct {
	mu     sync.Mutex
	output []byte // guarded by mu until closed
	code   int
	closed chan struct{}
}

// probeOutput bounds what is kept.
const probeOutput = 1 << 10

func (*probeEvents) Admit(<-chan struct{}) {}

func (e *probeEvents) Output(_ spawn.Stream, b []byte) { // of both streams at the same time
	e.mu.Lock()
	defer e.mu.Unlock()
	e.output = append(e.output, b[:min(len(b), probeOutput-len(e.output))]...)
}

func (e *probeEvents) Exited(code int) { e.code = code }
func (e *probeEvents) Closed()         { close(e.closed) }

// failedStage says what of the namespaces can't be had, and what to do about it.
func failedStage(f *spawn.SetupFailure) string {
	switch f.Stage {
	case "proc":
		return f.Message + ". Start the container with the whole of /proc: `docker run --security-opt systempaths=unconfined`, " +
			"`podman run --security-opt unmask=ALL`, procMount: Unmasked in Kubernetes; or allow commands to see the host's " +
			"processes by `airlock serve --sandbox-outer-proc`"
	case "user namespace", "mounts", "network":
		return noNamespaces(f.Message, nil)
	}
	return f.Message
}

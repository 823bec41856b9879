package linux

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"github.com/airlock-exec/airlock/internal/helper/plan"
	"github.com/airlock-exec/airlock/internal/sandbox"
	"github.com/airlock-exec/airlock/internal/sandbox/landlock"
	"github.com/airlock-exec/airlock/internal/spawn"
	"github.com/airlock-exec/airlock/internal/spawn/point"
	"github.com/airlock-exec/airlock/internal/spawn/tree"
	"github.com/airlock-exec/airlock/protocol"
)

// Config says how a [Backend] works.
type Config struct {
	// Tier is the only one to be used for files: [protocol.TierNamespaces] or
	// [protocol.TierLandlock]. Empty means the strongest that the host offers.
	Tier protocol.SandboxTier
	// OuterProc shows a command the processes of the host where it can't have a
	// /proc of its own; without that it is refused.
	OuterProc bool
	// Nesting leaves a command what it takes to make sandboxes of its own.
	Nesting bool
	// Spawner starts the programs by which is found out what the host offers.
	Spawner *spawn.Spawner
	// Registrar is called once, before the first mount point is made, for who is to
	// know what has to be removed should the program die. It may be nil or return
	// nil.
	Registrar func() tree.Registrar
	// Logger hears of what the host offers, and of mount points that may stay
	// behind. Nil discards.
	Logger *slog.Logger
}

// Backend enforces plans. Its methods may be called by any goroutine.
type Backend struct {
	config     Config
	namespaces prober
	abi        func() int // of Landlock
	points     func() *point.Keeper

	mu     sync.Mutex
	closed bool           // guarded by mu
	group  *spawn.Group   // guarded by mu; of the probes, nil before the first
	active sync.WaitGroup // what is under way; grows only while it is not 0, or under mu while not closed
	opened *point.Keeper  // guarded by mu; nil before the first mount point
}

var _ sandbox.Backend = (*Backend)(nil)

// New returns a Backend, which has to be closed before its Spawner is. It removes
// the mount points that dead executors have left behind.
func New(config Config) *Backend {
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	point.SweepLeft()
	b := &Backend{config: config, abi: sync.OnceValue(landlock.ABI)}
	b.namespaces.probe, b.namespaces.start = b.tryNamespaces, b.active.Go
	b.points = sync.OnceValue(b.openPoints)
	return b
}

func (b *Backend) openPoints() *point.Keeper {
	var registrar tree.Registrar
	if b.config.Registrar != nil {
		registrar = b.config.Registrar()
	}
	k := point.NewKeeper(registrar, func(what string, err error) {
		b.config.Logger.Warn("a mount point may stay behind", slog.String("what", what), slog.Any("error", err))
	})
	b.mu.Lock()
	defer b.mu.Unlock()
	b.opened = k
	if lock := k.Lock(); lock != nil && b.config.Spawner != nil {
		b.config.Spawner.Lifeline(lock)
	}
	return k
}

// begin counts a call, unless the backend is closed.
func (b *Backend) begin() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return unavailable("the executor is shutting down")
	}
	b.active.Add(1)
	return nil
}

// Close waits for whatever is under way. All that was confined has to be gone.
func (b *Backend) Close() {
	b.mu.Lock()
	b.closed = true
	group := b.group
	b.mu.Unlock()
	if group != nil {
		_ = group.Close() // it has been logged; a probe under way fails
	}
	b.active.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.opened != nil {
		b.opened.Close()
		b.opened = nil
	}
}

// Check tells whether files can be confined, by the tier that the configuration
// names if it does: it confines a program for real.
func (b *Backend) Check(ctx context.Context) error {
	if err := b.begin(); err != nil {
		return err
	}
	defer b.active.Done()
	if b.config.Tier != protocol.TierLandlock {
		if err := b.namespaces.check(ctx); err == nil || b.config.Tier == protocol.TierNamespaces {
			return err
		}
	}
	return b.tryLandlock()
}

// Confine makes ready what a plan needs on the host: see [sandbox.Backend]. Errors
// are of type [*protocol.Error].
func (b *Backend) Confine(ctx context.Context, p *sandbox.Plan) (sandbox.Confined, error) {
	if err := b.begin(); err != nil {
		return sandbox.Confined{}, err
	}
	defer b.active.Done()
	switch {
	case p.Kind == sandbox.Unconfined && p.Network == sandbox.NetworkOpen:
		return sandbox.Confined{Tier: protocol.TierNone, Undo: func() {}}, nil
	case p.Kind != sandbox.Isolated && p.Network != sandbox.NetworkManaged:
		return b.filtered(p)
	case b.config.Tier == protocol.TierLandlock:
		return b.landlocked(p, nil)
	}
	b.points() // before the first helper is started that may need some
	err := b.namespaces.check(ctx)
	switch {
	case err == nil:
		return b.isolated(p)
	case b.config.Tier == protocol.TierNamespaces || ctx.Err() != nil:
		return sandbox.Confined{}, err
	}
	return b.landlocked(p, err)
}

// filtered confines by a filter of system calls and nothing else.
func (b *Backend) filtered(p *sandbox.Plan) (sandbox.Confined, error) {
	filter, err := b.filter(p)
	if err != nil {
		return sandbox.Confined{}, err
	}
	return sandbox.Confined{
		Confinement: &plan.Confinement{Filter: filter, Sockets: p.Sockets},
		Tier:        protocol.TierSeccomp,
		Undo:        func() {},
	}, nil
}

// landlocked confines by Landlock; refused is why it can't be by namespaces, if
// that has been tried.
func (b *Backend) landlocked(p *sandbox.Plan, refused error) (sandbox.Confined, error) {
	rules, err := landlock.Express(p, b.abi())
	if err != nil && refused != nil {
		return sandbox.Confined{}, unavailable(fmt.Sprintf("%s; and Landlock, which would do without, can't enforce this policy: %v",
			causeOf(refused), err))
	}
	if err != nil {
		return sandbox.Confined{}, unavailable(fmt.Sprintf("Landlock can't enforce this policy: %v", err))
	}
	filter, err := b.filter(p)
	if err != nil {
		return sandbox.Confined{}, err
	}
	return sandbox.Confined{
		Confinement: &plan.Confinement{Filter: filter, Sockets: p.Sockets, Landlock: rules},
		Tier:        protocol.TierLandlock,
		Undo:        func() {},
	}, nil
}

// isolated confines by namespaces.
func (b *Backend) isolated(p *sandbox.Plan) (sandbox.Confined, error) {
	filter, err := b.filter(p)
	if err != nil {
		return sandbox.Confined{}, err
	}
	c := &plan.Confinement{
		Isolated: true, Base: p.Base, Mounts: p.Mounts, OuterProc: b.config.OuterProc,
		Offline: p.Network != sandbox.NetworkOpen,
		Filter:  filter, Sockets: p.Sockets, Landlock: landlock.Scopes(b.abi(), p),
	}
	if p.Kind != sandbox.Isolated {
		c.Base = plan.Writable // the plan restricts no files
	}
	if p.Network == sandbox.NetworkManaged {
		c.Listen = p.Ports
	}
	undo := func() {}
	if len(p.Points) > 0 {
		if c.Mounts, undo, err = b.makePoints(p); err != nil {
			return sandbox.Confined{}, err
		}
	}
	return sandbox.Confined{Confinement: c, Tier: protocol.TierNamespaces, Undo: undo}, nil
}

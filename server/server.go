// Package server puts an executor together from its parts and serves it: on a
// WebSocket listener, on standard input and output, or to clients in the same
// program.
//
// A [Server] owns everything that its clients start. When [Server.Close] has
// returned, every connection is closed, every process and all that it has
// started is dead and no goroutine of the server runs.
package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/airlock-exec/airlock/internal/discover"
	"github.com/airlock-exec/airlock/internal/fetch"
	"github.com/airlock-exec/airlock/internal/files"
	"github.com/airlock-exec/airlock/internal/files/confined"
	"github.com/airlock-exec/airlock/internal/files/watch"
	"github.com/airlock-exec/airlock/internal/helper"
	"github.com/airlock-exec/airlock/internal/launch"
	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/internal/outlog"
	"github.com/airlock-exec/airlock/internal/process"
	"github.com/airlock-exec/airlock/internal/rpc"
	"github.com/airlock-exec/airlock/internal/sandbox"
	"github.com/airlock-exec/airlock/internal/session"
	"github.com/airlock-exec/airlock/internal/spawn"
	"github.com/airlock-exec/airlock/internal/spawn/tree"
	"github.com/airlock-exec/airlock/internal/spawn/warden"
	"github.com/airlock-exec/airlock/internal/transport"
	"github.com/airlock-exec/airlock/protocol"
)

// Config says how an executor works. A zero field means its default.
type Config struct {
	// ConcurrentRequests is how many requests of a connection may be under way
	// in each of its two lanes. The default, 1, begins each request when the
	// one before it has been answered or only waits.
	ConcurrentRequests int
	// SessionTTL is how long a session is kept while no client is attached to
	// it. The default is 80 s.
	SessionTTL time.Duration
	// ProcessRetention is how long a closed process can still be read. The
	// default is 80 s.
	ProcessRetention time.Duration
	// MaxSessions bounds the sessions, attached or not. The default is 4096.
	MaxSessions int
	// MaxProcesses bounds the processes of a session that have not been
	// forgotten. The default is 4096.
	MaxProcesses int
	// StallTimeout is how long a client may take nothing of what is sent to it
	// and still hold back its processes; after that they run on. The default
	// is 2 s.
	StallTimeout time.Duration
	// StallDrop is how long a client may take nothing until it is disconnected.
	// The default is 60 s.
	StallDrop time.Duration
	// SpillBytes is how much output of a process is kept in a file when it does
	// not stay in memory; the file is some 3 % larger. The default is 256 MiB; a
	// negative value means that there is no file, and such output is dropped.
	SpillBytes int64
	// SpillTotalBytes bounds all those files together; it is taken as at least
	// what one of them may have. The default is 4 GiB.
	SpillTotalBytes int64
	// SpillDir is the folder of those files, which have no names there. The
	// default is os.TempDir().
	SpillDir string
	// Trees names the means by which a process is held together with all that
	// it starts: cgroup2, freezer, walk, or one of other systems. The default,
	// auto, is the strongest that works here; where another one does not, no
	// process can be started. See [Server.Check].
	Trees string
	// Disable names features (see protocol.Features) that the executor shall not
	// have, or protocol.CapabilityEnvironmentConfigRead and
	// protocol.CapabilityDiscoveryV2, which let clients ask for the configuration,
	// plugins and skills of its user. Names that are not known have no effect.
	Disable []string
	// HTTPDeny lists what HTTP requests of clients must not reach: addresses,
	// networks (10.0.0.0/8), host names, and names of which all below are meant
	// (*.internal). With an entry that is none of these every request is refused:
	// see [Server.CheckHTTP].
	HTTPDeny []string
	// HTTPMaxBody bounds the body of an answer to such a request that is not
	// streamed, in bytes. The default is 64 MiB.
	HTTPMaxBody int64
	// SandboxTier names what confines processes and operations on files for which
	// clients ask for a sandbox: namespaces or landlock. The default is the strongest
	// that works here and can enforce what is asked for. What can't be enforced is
	// refused. See [Server.CheckSandbox].
	SandboxTier string
	// SandboxOuterProc lets a sandboxed process see the processes of the host where
	// a /proc of its own can't be mounted, as in many containers. Without it such a
	// sandbox is refused.
	SandboxOuterProc bool
	// SandboxNesting lets sandboxed processes make user namespaces, so that they
	// can have sandboxes themselves. It takes away a protection: more of the kernel
	// can be reached from there.
	SandboxNesting bool
	// OwnsProgram says that the program is there for this executor only. Then
	// it may become the parent of orphans, if Trees gains by it, and reaps
	// them, also as the first process of a container.
	OwnsProgram bool
	// Logger is told what happens; never what is run, nor any secret. The
	// default discards everything.
	Logger *slog.Logger
	// Version is the embedding program's version, as clients get to see it.
	Version string
}

// MinSpillBytes is the least that Config.SpillBytes can be if it is not
// negative; less is taken for it.
const MinSpillBytes = limits.MinSpillBytes

func (c Config) withDefaults() Config {
	orDuration := func(d *time.Duration, value time.Duration) {
		if *d == 0 {
			*d = value
		}
	}
	orInt := func(n *int, value int) {
		if *n == 0 {
			*n = value
		}
	}
	orInt64 := func(n *int64, value int64) {
		if *n == 0 {
			*n = value
		}
	}
	orInt(&c.ConcurrentRequests, 1)
	orDuration(&c.StallTimeout, limits.StallTimeout)
	orDuration(&c.StallDrop, limits.StallDrop)
	orInt64(&c.SpillBytes, limits.SpillBytes)
	if c.SpillBytes > 0 {
		c.SpillBytes = max(c.SpillBytes, MinSpillBytes)
	}
	orInt64(&c.SpillTotalBytes, limits.SpillTotalBytes)
	if c.SpillDir == "" {
		c.SpillDir = os.TempDir()
	}
	orDuration(&c.SessionTTL, limits.SessionTTL)
	orDuration(&c.ProcessRetention, limits.ProcessRetention)
	orInt(&c.MaxSessions, limits.Sessions)
	orInt(&c.MaxProcesses, limits.ProcessesPerSession)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// Server is an executor.
type Server struct {
	config   Config
	info     protocol.EnvironmentInfo
	features []string // those that are not switched off
	began    time.Time
	listen   atomic.Pointer[[]string] // where clients connect, if anybody can ask
	spawner  *spawn.Spawner
	warden   *warden.Warden
	sessions *session.Registry

	sandbox      sandbox.Backend // nil if there is none here
	sandboxFault error           // why Config.SandboxTier makes no sense here

	discoverer  *discover.Discoverer
	fetcher     *fetch.Fetcher
	httpFault   error // why no HTTP request must be made
	fileBudget  files.Budget
	confined    *confined.Pool // carries out what is asked of files with a sandbox
	watchBudget watch.Budget

	ctx         context.Context // ends with the server; never a request's
	stop        context.CancelCauseFunc
	connections sync.WaitGroup
	opened      atomic.Uint64 // connections, to number them in logs

	mu      sync.Mutex
	closed  bool
	sockets []string // guarded by mu; records of control sockets
}

// ErrClosed is returned by what is asked of a closed server.
var ErrClosed = fmt.Errorf("the executor has been closed: %w", transport.ErrGoingAway)

// New makes an executor that children inherit the environment of this program
// from. Its owner has to close it.
func New(config Config) *Server {
	s := &Server{config: config.withDefaults()}
	s.began = time.Now()
	s.features = slices.DeleteFunc(protocol.Features(), func(name string) bool {
		return slices.Contains(s.config.Disable, name)
	})
	s.info = discover.Environment(s.config.Version, s.features)
	hide(&s.info.Capabilities, s.config.Disable)
	s.fetcher, s.httpFault = newFetcher(&s.config)
	s.warden = warden.New(warden.Config{Logger: s.config.Logger})
	s.spawner = spawn.New(spawn.Config{
		Means:       tree.Means(s.config.Trees),
		OwnsProgram: s.config.OwnsProgram,
		Registrar:   s.startWarden,
		Logger:      s.config.Logger,
	})
	s.sandbox, s.sandboxFault = s.newSandbox()
	s.confined = s.newConfined()
	s.discoverer = discover.New(discover.Config{Confined: s.confined})
	s.announceSandbox()
	launcher := launch.New(launch.Config{
		Env: os.Environ(), LoginShell: s.info.Shell.Path, Features: s.features,
		Sandbox: s.sandbox, Guarded: guarded, Logger: s.config.Logger,
	})
	spill, input := s.newSpill(), &process.Budget{}
	s.sessions = session.NewRegistry(session.Config{
		TTL:         s.config.SessionTTL,
		MaxSessions: s.config.MaxSessions,
		NewTable: func() *process.Table {
			return process.NewTable(process.Config{
				Retention:    s.config.ProcessRetention,
				MaxProcesses: s.config.MaxProcesses,
				Log:          outlog.Config{Spill: spill},
				Input:        input,
				Features:     s.features,
			}, &groupLauncher{launcher, s.spawner.NewGroup()})
		},
	})
	s.ctx, s.stop = context.WithCancelCause(context.Background())
	return s
}

// newSpill returns where output goes that does not stay in memory, or nil.
func (s *Server) newSpill() *outlog.Spill {
	if s.config.SpillBytes < 0 {
		return nil
	}
	// Some room for what stands around the output, and for what is overwritten
	// with the oldest of it.
	size := min(s.config.SpillBytes, math.MaxInt64/2)
	size += size/32 + 1<<20
	return outlog.NewSpill(s.config.SpillDir, size, max(size, s.config.SpillTotalBytes), func(err error) {
		s.config.Logger.Warn("output that leaves memory is lost: it can't be kept in a file", "error", err)
	})
}

// startWarden starts who cleans up if this program is killed, before the first
// process is. Without a warden the next executor does.
func (s *Server) startWarden() tree.Registrar {
	if err := s.warden.Start(); errors.Is(err, errors.ErrUnsupported) {
		s.config.Logger.Debug("no warden", "error", err)
	} else if err != nil {
		s.config.Logger.Warn("no warden: should this program be killed, processes live on", "error", err)
	}
	return s.warden
}

// Check returns why no process could be started by the means that Config.Trees
// asks for.
func (s *Server) Check() error { return s.spawner.Check() }

// CheckHTTP returns what is wrong with Config.HTTPDeny.
func (s *Server) CheckHTTP() error { return s.httpFault }

// RunHelper runs Airlock's helper and ends the program, if that is what it has
// been executed for. It is to be the first call of main in programs that contain
// a [Server] and do not embed the helper (build tag embedhelper): the executor
// executes its own program to have the warden, which kills what it has started
// should it be killed itself.
// It carries out operations on files in a sandbox in the same way.
func RunHelper() {
	confined.Offer(discover.WorkMethod, discover.Work)
	confined.RunIfWorker()
	helper.RunIfHelper()
}

// groupLauncher launches the processes of one session, as what a process table
// knows.
type groupLauncher struct {
	*launch.Launcher
	group *spawn.Group
}

// Launch implements [process.Launcher].
func (l *groupLauncher) Launch(ctx context.Context, params *protocol.StartParams, adopt func(process.Child) spawn.Events) (process.Confined, error) {
	confined, err := l.Launcher.Launch(ctx, l.group, params, func(p *spawn.Process) spawn.Events { return adopt(p) })
	return process.Confined(confined), err
}

// Usages implements [process.Launcher].
func (*groupLauncher) Usages(children []process.Child) []spawn.Usage {
	processes := make([]*spawn.Process, len(children))
	for i, child := range children {
		processes[i] = child.(*spawn.Process) // Launch has handed out nothing else
	}
	return spawn.Usages(processes)
}

// Close implements [process.Launcher].
func (l *groupLauncher) Close() { _ = l.group.Close() } // it has been logged

// Connect opens a connection inside the program; package client uses it.
func (s *Server) Connect(context.Context) (transport.Conn, error) {
	ours, theirs := transport.Pair()
	if err := s.goServe(ours); err != nil {
		return nil, err
	}
	return theirs, nil
}

// ServeStdio serves one client on a pair of streams, one message a line. When r
// ends, what the client waits for is answered within two seconds. ServeStdio
// then returns nil; when ctx ends first it returns the cause at once. Either
// way the client's processes live on until the server is closed.
func (s *Server) ServeStdio(ctx context.Context, r io.ReadCloser, w io.WriteCloser) error {
	if !s.begin() {
		return ErrClosed
	}
	defer s.connections.Done()
	return s.serve(ctx, transport.NewStdio(r, w), client)
}

// begin counts a connection, unless the server is closed.
func (s *Server) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.connections.Add(1)
	return true
}

// goServe serves a connection in the background.
func (s *Server) goServe(t transport.Conn) error {
	if !s.begin() {
		t.Close(ErrClosed)
		return ErrClosed
	}
	go func() {
		defer s.connections.Done()
		_ = s.serve(s.ctx, t, client)
	}()
	return nil
}

// serve runs one connection until it ends.
func (s *Server) serve(ctx context.Context, t transport.Conn, from role) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.ctx, func() { cancel(context.Cause(s.ctx)) })()

	c := &connection{server: s, from: from, looks: make(chan struct{}, limits.Looks)}
	c.rpc = rpc.New(t, c, rpc.Config{
		Concurrency:  s.config.ConcurrentRequests,
		Calls:        limits.CallsInFlight,
		DrainTimeout: limits.DrainTimeout,
		StallTimeout: s.config.StallTimeout,
		StallDrop:    s.config.StallDrop,
		Stalled:      c.stalled,
	})
	c.files = files.New(&s.fileBudget, s.confined)
	c.watches = c.newWatches()
	c.http = s.fetcher.Connection(c.bodyDelta)
	c.log = s.config.Logger.With("connection", s.opened.Add(1))
	c.log.Debug("connection opened", "source", t.Origin())
	err := c.rpc.Serve(ctx)
	c.log.Debug("connection closed", "reason", err)
	return err
}

// Close ends every connection, kills every process and waits until nothing
// of the server is left. A process that can't be killed (it has other rights, or
// is stuck in the kernel) is given up after five seconds, and the logger told.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.stop(ErrClosed)
	done := make(chan struct{})
	go func() {
		defer close(done)
		// The sessions first: a client that hangs must not keep processes alive.
		s.sessions.Close()
		s.connections.Wait()
		s.fetcher.Close()
		s.confined.Close()
		if s.sandbox != nil {
			s.sandbox.Close()
		}
		s.spawner.Close()
		s.forgetSockets()
		s.warden.Close()
	}()
	select {
	case <-done:
	case <-time.After(limits.CloseTimeout):
		s.config.Logger.Error("processes that were killed do not end: given up")
	}
}

// Package launch turns the parameters of a start into a running child: pure
// checks first, then the stages with effects, in the order in which they stand
// in [New], then the spawn.
package launch

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"

	"github.com/airlock-exec/airlock/internal/environ"
	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/internal/network/relay"
	"github.com/airlock-exec/airlock/internal/sandbox"
	"github.com/airlock-exec/airlock/internal/spawn"
	"github.com/airlock-exec/airlock/protocol"
)

// Launch is a start on its way: what was asked for, and the command that the
// stages make of it.
type Launch struct {
	Params   *protocol.StartParams
	Command  spawn.Command
	Confined Confined

	undos []func()
}

// undo has something done, after what is added later, when the process has closed
// or can't be started.
func (l *Launch) undo(f func()) {
	if f != nil {
		l.undos = append(l.undos, f)
	}
}

// runUndos does all of that.
func (l *Launch) runUndos() {
	for _, undo := range slices.Backward(l.undos) {
		undo()
	}
}

// Stage is one step of a preparation. When ctx ends it fails with the cause.
type Stage func(ctx context.Context, l *Launch) error

// Config says how children are launched.
type Config struct {
	// Env is what children inherit, as far as a start's policy says so.
	Env []string
	// LoginShell is the SHELL of those with a terminal that have none.
	LoginShell string
	// Features are those of package protocol that starts may make use of.
	Features []string
	// Sandbox is what confines children; nil if nothing can here.
	Sandbox sandbox.Backend
	// Guarded returns what no confined child may write, whatever it is allowed.
	Guarded func() []string
	// Logger is told what is odd about what clients ask for. Nil discards.
	Logger *slog.Logger
}

// Launcher launches children.
type Launcher struct {
	features []string
	backend  sandbox.Backend
	stages   []Stage
}

// New makes a launcher.
func New(config Config) *Launcher {
	log := cmp.Or(config.Logger, slog.New(slog.DiscardHandler))
	guarded := config.Guarded
	if guarded == nil {
		guarded = func() []string { return nil }
	}
	return &Launcher{
		features: config.Features,
		backend:  config.Sandbox,
		stages: []Stage{
			command,
			environment(config.Env, config.LoginShell),
			resources,
			confine(config.Sandbox, guarded, log),
			reach(relay.NewBudget()),
		},
	}
}

// Check refuses what can't be started, whatever the state of the host. The
// order of the checks is that of the dialect.
func (l *Launcher) Check(params *protocol.StartParams) error {
	if proxy := params.NetworkProxy; proxy != nil && proxy.PolicyDecisionTimeoutMs != nil {
		if *proxy.PolicyDecisionTimeoutMs == 0 {
			return protocol.Errorf(protocol.CodeInvalidParams,
				"network policy decision callback timeout must be nonzero")
		}
		if n := len(params.ProcessID); n == 0 || n > limits.CallbackProcessIDBytes {
			return protocol.Errorf(protocol.CodeInvalidParams,
				"callback-enabled process ID must be non-empty and at most %d bytes",
				limits.CallbackProcessIDBytes)
		}
	}
	if err := l.checkConfinement(params); err != nil {
		return err
	}
	if params.Sandbox != nil {
		if err := checkConfined(params); err != nil {
			return err
		}
	}
	if _, err := workingDirectory(params); err != nil {
		return err
	}
	if params.ShellSnapshot != nil {
		return protocol.Errorf(protocol.CodeInvalidParams,
			"shell snapshots are not supported by this executor: start the process without `shellSnapshot`")
	}
	if n := len(params.ProcessID); n > limits.ProcessIDBytes {
		return protocol.Errorf(protocol.CodeInvalidParams,
			"processId has %d bytes: at most %d are allowed", n, limits.ProcessIDBytes)
	}
	if len(params.Argv) == 0 {
		return errNoArgv
	}
	return l.checkExtra(params)
}

var errNoArgv = protocol.Errorf(protocol.CodeInvalidParams, "argv must not be empty")

func workingDirectory(params *protocol.StartParams) (string, error) {
	dir, err := params.CWD.Native()
	if err != nil {
		return "", protocol.Errorf(protocol.CodeInvalidParams,
			"cwd URI `%s` is not valid on this exec-server host: %v", params.CWD, err)
	}
	return dir, nil
}

// Launch runs the stages and spawns the child in a group. Before the child reports
// anything, adopt is called for whom it reports to. When ctx ends before there
// is a child, Launch fails with the cause. What the stages have made ready is undone
// when the process has closed, or before Launch fails.
func (l *Launcher) Launch(ctx context.Context, group *spawn.Group, params *protocol.StartParams, adopt func(*spawn.Process) spawn.Events) (Confined, error) {
	launch := &Launch{Params: params}
	for _, stage := range l.stages {
		if err := stage(ctx, launch); err != nil {
			launch.runUndos()
			return Confined{}, err
		}
	}
	if ctx.Err() != nil {
		launch.runUndos()
		return Confined{}, context.Cause(ctx)
	}
	if launch.undos != nil {
		launch.Command.Cleanup = launch.runUndos // also if the start fails
	}
	if err := group.Start(&launch.Command, adopt); err != nil {
		return Confined{}, wireError(err)
	}
	return launch.Confined, nil
}

// command takes over what needs no preparation.
func command(_ context.Context, l *Launch) error {
	dir, err := workingDirectory(l.Params)
	if err != nil {
		return err
	}
	l.Command.Argv = l.Params.Argv
	l.Command.Arg0 = l.Params.Arg0
	l.Command.Dir = dir
	l.Command.Stdin = l.Params.PipeStdin
	if l.Params.TTY {
		l.Command.TTY = &spawn.Size{Rows: terminalRows, Cols: terminalCols}
	}
	if extra := l.Params.Airlock; extra != nil {
		l.Command.Stdin = l.Command.Stdin || extra.Stdin != nil
		if extra.TerminalSize != nil {
			*l.Command.TTY = spawn.Size{Rows: extra.TerminalSize.Rows, Cols: extra.TerminalSize.Cols}
		}
	}
	return nil
}

// environment makes the child's environment.
func environment(base []string, shell string) Stage {
	return func(_ context.Context, l *Launch) error {
		l.Command.Env = environ.Build(base, environ.Params{
			Policy:     l.Params.EnvPolicy,
			Env:        l.Params.Env,
			Metadata:   l.Params.Metadata,
			TTY:        l.Params.TTY,
			LoginShell: shell,
		})
		return nil
	}
}

// wireError says on the wire why a spawn failed.
func wireError(err error) error {
	kind := protocol.KindSpawnFailed
	if spawnError, ok := errors.AsType[*spawn.Error](err); ok {
		switch spawnError.Kind {
		case spawn.NotFound:
			kind = protocol.KindSpawnNotFound
		case spawn.PermissionDenied:
			kind = protocol.KindSpawnPermissionDenied
		case spawn.Unenforceable:
			return protocol.WithKind(protocol.CodeInvalidParams, protocol.KindLimitUnavailable, err.Error())
		case spawn.Failed:
		}
	}
	return protocol.WithKind(protocol.CodeInternal, kind, err.Error())
}

package launch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"

	"github.com/airlock-exec/airlock/internal/network/relay"
	"github.com/airlock-exec/airlock/internal/sandbox"
	"github.com/airlock-exec/airlock/protocol"
)

// Confined says what confines a child.
type Confined struct {
	// Type is what the dialect calls it.
	Type protocol.SandboxType
	// Tier is empty if no sandbox was asked for.
	Tier protocol.SandboxTier
}

// checkConfinement refuses what can't be confined as is asked for: a command must
// not run with less.
func (l *Launcher) checkConfinement(params *protocol.StartParams) error {
	refuse := func(what, member string) error {
		return protocol.WithKind(protocol.CodeInvalidParams, protocol.KindSandboxUnavailable,
			"sandbox intent cannot be enforced on this executor: "+what+
				"; start the process without `"+member+"`, or use an executor that can confine it")
	}
	asked := params.Sandbox
	if err := sandbox.Check(asked, params.Arg0 != nil); err != nil {
		return err
	}
	switch {
	case params.NetworkProxy != nil:
		return refuse("it has no network proxy", "networkProxy")
	case asked != nil && l.backend == nil:
		return refuse("it has no sandbox", "sandbox")
	case asked == nil && params.EnforceManagedNetwork:
		return refuse("a process without `sandbox` has the whole network", "enforceManagedNetwork")
	}
	return nil
}

// checkConfined makes those checks of a start with a sandbox that are to come first.
func checkConfined(params *protocol.StartParams) error {
	if len(params.Argv) == 0 {
		return errNoArgv
	}
	_, errDir := params.CWD.Native()
	if errDir != nil && !hasDirectory(params.Sandbox) {
		return preparationError(fmt.Errorf("invalid sandbox policy cwd: %w", errDir))
	}
	if err := sandbox.CheckPaths(params.Sandbox); err != nil {
		return err
	}
	if errDir != nil {
		return preparationError(fmt.Errorf("command cwd URI `%s` is not valid on this host: %w", params.CWD, errDir))
	}
	return nil
}

// hasDirectory tells whether a policy refers to a directory of its own; else it is that
// in which the process starts.
func hasDirectory(c *protocol.SandboxContext) bool {
	return c.CWD != nil || c.PolicyContext != nil && c.PolicyContext.CWD != nil
}

// confine has what confines the process made ready.
func confine(backend sandbox.Backend, guarded func() []string, log *slog.Logger) Stage {
	return func(ctx context.Context, l *Launch) error {
		if l.Params.Sandbox == nil {
			return nil
		}
		l.Confined = Confined{Type: protocol.SandboxLinuxSeccomp, Tier: protocol.TierNone}
		asked, err := sandbox.Resolve(sandbox.Request{
			Context:        l.Params.Sandbox,
			Dir:            l.Command.Dir,
			Env:            l.Command.Env,
			Managed:        l.Params.ManagedNetwork,
			EnforceManaged: l.Params.EnforceManagedNetwork,
			Guarded:        guarded(),
		}, sandbox.OS())
		if err != nil {
			return preparationError(err)
		}
		for _, warning := range asked.Warnings {
			log.Info("a sandbox does less than it seems to", "how", warning)
		}
		if asked.Kind == sandbox.Unconfined && asked.Network == sandbox.NetworkOpen {
			return nil
		}
		confined, err := backend.Confine(ctx, asked)
		switch {
		case err != nil && ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return preparationError(err)
		}
		l.Confined.Tier = confined.Tier
		l.undo(confined.Undo)
		l.Command.Confinement = confined.Confinement
		if asked.Dir != "" {
			l.Command.Dir = asked.Dir
		}
		return nil
	}
}

// preparationError says on the wire why a sandbox could not be made ready.
func preparationError(err error) error {
	if _, ok := errors.AsType[*protocol.Error](err); ok {
		return err
	}
	return protocol.WithKind(protocol.CodeInvalidParams, protocol.KindSandboxPreparation,
		"failed to prepare process sandbox: "+err.Error())
}

// reach lets a process that has a loopback of its own reach the ports of the host
// that its confinement names.
func reach(budget *relay.Budget) Stage {
	return func(_ context.Context, l *Launch) error {
		c := l.Command.Confinement
		if c == nil || len(c.Listen) == 0 {
			return nil
		}
		r := relay.New(budget, slices.Clone(c.Listen))
		l.undo(r.Close)
		l.Command.Listeners = func(sockets []*os.File) error {
			if err := r.Take(sockets); err != nil {
				return fmt.Errorf("the managed network: %w", err)
			}
			return nil
		}
		return nil
	}
}

package server

import (
	"fmt"

	"github.com/airlock-exec/airlock/internal/control"
	"github.com/airlock-exec/airlock/internal/sandbox"
	"github.com/airlock-exec/airlock/internal/sandbox/linux"
	"github.com/airlock-exec/airlock/internal/spawn/tree"
	"github.com/airlock-exec/airlock/protocol"
)

// newSandbox returns what confines processes. Where that makes no sense there is
// nothing, and everything that asks for a sandbox is refused.
func (s *Server) newSandbox() (sandbox.Backend, error) {
	tier := protocol.SandboxTier(s.config.SandboxTier)
	switch tier {
	case "", protocol.TierNamespaces, protocol.TierLandlock:
		return linux.New(linux.Config{
			Tier:      tier,
			OuterProc: s.config.SandboxOuterProc,
			Nesting:   s.config.SandboxNesting,
			Spawner:   s.spawner,
			Registrar: s.startWarden,
			Logger:    s.config.Logger,
		}), nil
	default:
		return nil, fmt.Errorf("there is no sandbox tier %q: it can be %s or %s", tier, protocol.TierNamespaces, protocol.TierLandlock)
	}
}

// guarded returns the folders in which executors keep what has to be removed after
// them, and their control sockets.
func guarded() []string {
	folders := control.Folders()
	if folder, err := tree.MakeRuntimeFolder(); err == nil { // or a command could make it
		folders = append(folders, folder)
	}
	return folders
}

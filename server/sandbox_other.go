//go:build !linux

package server

import (
	"errors"
	"fmt"

	"github.com/airlock-exec/airlock/internal/sandbox"
)

// newSandbox returns what confines processes: nothing does here.
func (s *Server) newSandbox() (sandbox.Backend, error) {
	if s.config.SandboxTier != "" {
		return nil, fmt.Errorf("there is no sandbox tier %q here: %w", s.config.SandboxTier, errors.ErrUnsupported)
	}
	return nil, nil
}

// guarded returns nothing: nothing is confined here.
func guarded() []string { return nil }

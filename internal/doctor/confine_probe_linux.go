package doctor

import (
	"context"
	"strings"

	"github.com/airlock-exec/airlock/internal/sandbox/linux"
	"github.com/airlock-exec/airlock/internal/spawn"
	"github.com/airlock-exec/airlock/internal/spawn/tree"
	"github.com/airlock-exec/airlock/protocol"
)

// confine implements system. It does what an executor does that is to use this tier
// alone.
func confine(tier protocol.SandboxTier) error {
	// Groups leave nothing on the host, and what is started ends with its namespaces or
	// its leader.
	spawner := spawn.New(spawn.Config{Means: tree.Group})
	defer spawner.Close()
	backend := linux.New(linux.Config{Tier: tier, Spawner: spawner})
	defer backend.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience/2)
	defer cancel()
	err := backend.Check(ctx)
	if err == nil {
		return nil
	}
	// What an executor would say of itself says nothing here.
	if _, cause, ok := strings.Cut(err.Error(), "on this executor: "); ok {
		return &unconfined{cause, err}
	}
	return err
}

// unconfined is why no program could be confined.
type unconfined struct {
	text string
	err  error
}

func (u *unconfined) Error() string { return u.text }
func (u *unconfined) Unwrap() error { return u.err }

package sandbox

import (
	"context"

	"github.com/airlock-exec/airlock/internal/helper/plan"
	"github.com/airlock-exec/airlock/protocol"
)

// Backend enforces plans on one kind of system.
type Backend interface {
	// Confine makes ready what a plan needs on the host. It fails if the plan
	// can't be enforced in full.
	Confine(ctx context.Context, p *Plan) (Confined, error)
	// Close waits for whatever is under way. Nothing may be confined after it.
	Close()
}

// Confined is a plan made ready.
type Confined struct {
	// Confinement is for whoever starts the program.
	Confinement *plan.Confinement
	// Tier says what enforces it.
	Tier protocol.SandboxTier
	// Undo gives back what was made ready. It has to be called once, when
	// everything that was confined is gone.
	Undo func()
}

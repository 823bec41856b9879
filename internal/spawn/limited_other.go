//go:build unix && !linux

package spawn

import (
	"syscall"

	"github.com/airlock-exec/airlock/internal/spawn/tree"
)

// plantLimited refuses: there is no helper here.
func (sys *system) plantLimited(*tree.Keeper, *Command, []string, *syscall.ProcAttr, <-chan struct{}) (child, *tree.Tree, error) {
	_, _, err := sys.helper()
	return child{}, nil, unenforceable("limits can't be enforced: %w", err)
}

// spentCPU is not known.
func spentCPU(int) uint64 { return 0 }

// mechanisms is empty: nothing is enforced.
func (Limits) mechanisms(*tree.Tree) Mechanisms { return Mechanisms{} }

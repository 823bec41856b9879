//go:build unix && !linux

package spawn

import (
	"errors"
	"syscall"

	"github.com/airlock-exec/airlock/internal/spawn/tree"
)

// plantLimited refuses: there is no helper here.
func (sys *system) plantLimited(*tree.Keeper, *Command, []string, *syscall.ProcAttr, <-chan struct{}) (child, *tree.Tree, error) {
	_, _, err := sys.helper()
	return child{}, nil, unenforceable("limits can't be enforced: %w", err)
}

// launchConfined is not called.
func (sys *system) launchConfined(*Command, *tree.Keeper, <-chan struct{}) (*Process, error) {
	return nil, errors.ErrUnsupported
}

// spentCPU is not known.
func spentCPU(int) uint64 { return 0 }

// spentByReaped is not known.
func spentByReaped(int) uint64 { return 0 }

// mechanisms is empty: nothing is enforced.
func (Limits) mechanisms(*tree.Tree) Mechanisms { return Mechanisms{} }

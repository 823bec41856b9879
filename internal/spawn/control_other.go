//go:build !linux

package spawn

import (
	"errors"

	"github.com/airlock-exec/airlock/internal/helper/plan"
)

// canConfine tells that there is a helper to confine programs.
const canConfine = false

// control would be the socket to a helper.
type control struct{}

func (*control) hurry() {}
func (*control) close() {}

// preparedHelpers would be helpers that wait for a command.
type preparedHelpers struct{}

func (*preparedHelpers) close() {}

func (*control) send(plan.Message, ...int) error { return errors.ErrUnsupported }

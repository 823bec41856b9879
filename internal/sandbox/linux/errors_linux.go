package linux

import (
	"errors"
	"strings"

	"github.com/airlock-exec/airlock/protocol"
)

// cannot is what clients know an executor by that can't confine.
const cannot = "sandbox intent cannot be enforced on this executor"

// unavailable is for what this host does not offer.
func unavailable(cause string) error {
	return protocol.WithKind(protocol.CodeInvalidParams, protocol.KindSandboxUnavailable, cannot+": "+cause)
}

// causeOf returns the cause of such an error.
func causeOf(err error) string {
	if e, ok := errors.AsType[*protocol.Error](err); ok {
		return strings.TrimPrefix(e.Message, cannot+": ")
	}
	return err.Error()
}

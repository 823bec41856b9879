package process

import (
	"sync/atomic"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
)

// Budget bounds what the processes of several tables hold together of what is to
// be written to them. The zero value is ready.
type Budget struct{ used atomic.Int64 }

// take takes a share, if there is one left.
func (b *Budget) take(bytes int) bool {
	if bytes == 0 || b.used.Add(int64(bytes)) <= limits.QueuedInputBytes {
		return true
	}
	b.give(bytes)
	return false
}

// claim takes a share also if there is none left.
func (b *Budget) claim(bytes int) { b.used.Add(int64(bytes)) }

// give gives a share back.
func (b *Budget) give(bytes int) { b.used.Add(-int64(bytes)) }

// errNoBudget answers what would be more than may be held.
func errNoBudget(bytes int) error {
	return protocol.Errorf(protocol.CodeInternal,
		"there is no room for %d bytes of input: processes of this executor have not read %d MiB of theirs, which is nearly as much as it keeps; try again when they have",
		bytes, limits.QueuedInputBytes>>20)
}

package watch

import (
	"cmp"
	"sync/atomic"

	"github.com/airlock-exec/airlock/internal/limits"
)

// pending counts what changes take that wait for slow clients, of all watches
// together. The first limits.WatchPendingFree of each watch do not count, so that
// those who are slow can't have all others rescan. The zero value is ready.
type pending struct {
	most  int64 // 0 means as many as package limits says
	bytes atomic.Int64
}

// take counts a watch's changes, which took some bytes so far and take more now.
// With false there is no room for them, and nothing has been counted.
func (p *pending) take(from, to int) bool {
	more := counted(to) - counted(from)
	if more == 0 {
		return true
	}
	if p.bytes.Add(more) <= cmp.Or(p.most, limits.WatchPendingTotalBytes) {
		return true
	}
	p.bytes.Add(-more)
	return false
}

// give takes off what changes have been counted for.
func (p *pending) give(bytes int) { p.bytes.Add(-counted(bytes)) }

func counted(bytes int) int64 { return int64(max(bytes-limits.WatchPendingFree, 0)) }

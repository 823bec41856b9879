package tree

import (
	"encoding/hex"
	"time"

	"golang.org/x/sys/unix"
)

// pauses are waits between attempts at something that nothing tells of, each
// longer than the one before.
type pauses struct {
	deadline time.Time
	pause    time.Duration
}

const longestPause = 20 * time.Millisecond

// next waits, and reports whether there is time for another attempt.
func (p *pauses) next() bool {
	rest := time.Until(p.deadline)
	if rest <= 0 {
		return false
	}
	p.pause = min(max(2*p.pause, 500*time.Microsecond), longestPause)
	<-time.After(min(p.pause, rest))
	return true
}

// RandomName returns a name that nobody else has.
func RandomName() string {
	var b [8]byte
	// It does not fail for so few bytes.
	_, _ = unix.Getrandom(b[:], 0)
	return hex.EncodeToString(b[:])
}

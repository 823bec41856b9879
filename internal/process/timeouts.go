package process

import (
	"runtime"
	"time"

	"github.com/airlock-exec/airlock/protocol"
)

// timeouts end a process that takes too long. They are guarded by the lock of
// their process.
type timeouts struct {
	whole, quiet time.Duration // 0: none

	deadline *time.Timer
	idle     *time.Timer
	last     time.Time // when something was said or written last
	held     int       // readers that somebody holds back: silence says nothing
}

// set takes over what a start asks for.
func (t *timeouts) set(extra *protocol.StartExtra) {
	if extra.TimeoutMs != nil {
		t.whole = milliseconds(*extra.TimeoutMs)
	}
	if extra.IdleTimeoutMs != nil {
		t.quiet = milliseconds(*extra.IdleTimeoutMs)
	}
}

// active notes that something was said or written.
func (t *timeouts) active() {
	if t.quiet > 0 {
		t.last = time.Now()
	}
}

// stop ends them.
func (t *timeouts) stop() {
	for _, timer := range []*time.Timer{t.deadline, t.idle} {
		if timer != nil {
			timer.Stop()
		}
	}
}

// startTimeouts begins to count. The caller holds the lock.
func (p *Process) startTimeouts() {
	t := &p.timeouts
	t.active()
	if t.whole > 0 {
		t.deadline = time.AfterFunc(t.whole, func() { p.end(protocol.ReasonDeadline) })
	}
	if t.quiet > 0 {
		t.idle = time.AfterFunc(t.quiet, p.checkIdle)
	}
}

// checkIdle ends the process if it has been silent for too long, or looks again
// when it can have been.
func (p *Process) checkIdle() {
	p.mu.Lock()
	t := &p.timeouts
	left := time.Until(t.last.Add(t.quiet))
	if t.held > 0 {
		left = t.quiet
	}
	over := p.removed || p.state == closed
	if left > 0 && !over {
		t.idle.Reset(left)
	}
	p.mu.Unlock()
	if left <= 0 && !over {
		p.end(protocol.ReasonIdle)
	}
}

// end kills the process for a reason of ours, unless it has closed.
func (p *Process) end(reason protocol.EndReason) {
	p.mu.Lock()
	child := p.child
	over := p.removed || p.state == closed
	if !over {
		p.because(reason)
		p.stdin.fail()
	}
	p.mu.Unlock()
	if !over {
		child.Kill()
	}
}

// isCause tells whether what we have done has ended the program: it may have been
// about to exit anyway when a timeout killed it. The caller holds the lock.
func (p *Process) isCause(code int) bool {
	switch p.reason {
	case protocol.ReasonDeadline, protocol.ReasonIdle:
		return code == killedCode || runtime.GOOS == "windows"
	default:
		return true
	}
}

// killedCode is the exit code of who was killed, where there are signals.
const killedCode = 128 + 9

// because notes why the process is being ended. The first reason counts. The
// caller holds the lock.
func (p *Process) because(reason protocol.EndReason) {
	if p.reason == "" {
		p.reason = reason
	}
}

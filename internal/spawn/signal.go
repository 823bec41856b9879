package spawn

import (
	"errors"
	"fmt"
)

// Signal names a signal as POSIX does, without SIG.
type Signal string

// Signals. Windows has only KILL, which is [Process.Kill] there.
const (
	HUP   Signal = "HUP"
	INT   Signal = "INT"
	QUIT  Signal = "QUIT"
	KILL  Signal = "KILL"
	USR1  Signal = "USR1"
	USR2  Signal = "USR2"
	TERM  Signal = "TERM"
	CONT  Signal = "CONT"
	STOP  Signal = "STOP"
	WINCH Signal = "WINCH"
)

// Signal sends a signal to the process group of the process. It is not delivered
// when the process has exited, which is no error. One that the system does not
// have is an error that wraps [errors.ErrUnsupported].
func (p *Process) Signal(sig Signal) (delivered bool, err error) {
	p.mu.Lock()
	alive := p.state == running && !p.child.isDead()
	if alive && (sig != KILL || hasGroups) {
		delivered, err = p.send(sig)
		p.struck = p.struck || sig == KILL && delivered
	}
	p.mu.Unlock()
	if alive && sig == KILL && !hasGroups {
		p.Kill()
		return true, nil
	}
	return delivered, err
}

func errNoSignal(sig Signal) error {
	return fmt.Errorf("the signal %q can't be sent on this system: %w", string(sig), errors.ErrUnsupported)
}

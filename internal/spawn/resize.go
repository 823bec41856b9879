package spawn

import "errors"

// ErrNoTerminal is what [Process.Resize] returns for a process without a
// terminal.
var ErrNoTerminal = errors.New("the process has no terminal")

// Resize sets the size of the terminal, of which the programs in its foreground
// learn by SIGWINCH. It does nothing when the process has exited.
func (p *Process) Resize(size Size) error {
	if !p.tty {
		return ErrNoTerminal
	}
	err := resize(p.input, size)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state != running {
		return nil // nobody is left to care
	}
	return err
}

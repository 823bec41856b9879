package process

import (
	"errors"

	"github.com/airlock-exec/airlock/internal/spawn"
	"github.com/airlock-exec/airlock/protocol"
)

// Signal interrupts the process group of a running process. Others are left
// alone.
func (t *Table) Signal(params *protocol.SignalParams) error {
	if p := t.find(params.ProcessID); p != nil {
		_, err := p.signal(spawn.Signal(protocol.SignalINT))
		return err
	}
	return nil
}

// SendSignal sends a signal to the process group of a process.
func (t *Table) SendSignal(params *protocol.SendSignalParams) (*protocol.SendSignalResult, error) {
	p, err := t.present(params.ProcessID)
	if err != nil {
		return nil, err
	}
	delivered, err := p.signal(spawn.Signal(params.Signal))
	if err != nil {
		return nil, err
	}
	return &protocol.SendSignalResult{Delivered: delivered}, nil
}

// signal reports false if there is nobody to signal.
func (p *Process) signal(sig spawn.Signal) (delivered bool, err error) {
	p.mu.Lock()
	child := p.child
	if p.state != running {
		child = nil
	}
	p.mu.Unlock()
	if child == nil {
		return false, nil
	}
	delivered, err = child.Signal(sig)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return false, protocol.Errorf(protocol.CodeInvalidParams, "cannot send the signal %s: %v", sig, err)
	case err != nil:
		return false, protocol.Errorf(protocol.CodeInternal, "failed to signal process: %v", err)
	}
	return delivered, nil
}

// Resize changes the size of a process's terminal.
func (t *Table) Resize(params *protocol.ResizeParams) error {
	if params.Rows == 0 || params.Cols == 0 {
		return protocol.Errorf(protocol.CodeInvalidParams,
			"rows and cols must be 1 to 65535, not %d and %d", params.Rows, params.Cols)
	}
	p, err := t.present(params.ProcessID)
	if err != nil {
		return err
	}
	if !p.hasTerminal {
		return protocol.Errorf(protocol.CodeInvalidParams,
			"process %s has no terminal: start it with `tty`", p.id)
	}
	p.mu.Lock()
	child := p.child
	if p.state == closed {
		child = nil
	}
	p.mu.Unlock()
	if child == nil {
		return nil
	}
	if err := child.Resize(spawn.Size{Rows: params.Rows, Cols: params.Cols}); err != nil {
		return protocol.Errorf(protocol.CodeInternal, "failed to resize the terminal: %v", err)
	}
	return nil
}

// present returns a process that is past its start.
func (t *Table) present(id string) (*Process, error) {
	p := t.find(id)
	if p == nil {
		return nil, errUnknown(id)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state == starting {
		return nil, errStarting(id)
	}
	return p, nil
}

package spawn

import (
	"errors"
	"os"
	"time"
)

// system is what a Spawner needs of the platform: nothing.
type system struct{}

func (*system) open()  {}
func (*system) close() {}

// child is the handle on a process.
type child struct {
	pid     int
	process *os.Process
}

var (
	errTTY       = errors.New("terminals are not supported on windows yet")
	errInterrupt = errors.New("interrupting a process is not supported on windows")
)

// launch starts cmd with pipes. Nothing is left open when it fails.
func (*system) launch(cmd *Command) (*Process, error) {
	if cmd.TTY != nil {
		return nil, errTTY
	}
	path, err := search(cmd.Argv[0], cmd.Dir, cmd.Env)
	if err != nil {
		return nil, err
	}
	io, err := openStdio(cmd)
	if err != nil {
		return nil, streamsError(err)
	}
	defer io.closeChild()
	argv := cmd.Argv
	if cmd.Arg0 != nil {
		argv = append([]string{*cmd.Arg0}, argv[1:]...)
	}
	process, err := os.StartProcess(path, argv, &os.ProcAttr{
		Dir:   cmd.Dir,
		Env:   append([]string{}, cmd.Env...), // nil would mean ours
		Files: io.child,
	})
	if err != nil {
		io.closeOurs()
		return nil, asOSError(err)
	}
	return newProcess(child{process.Pid, process}, io.input, false, io.streams), nil
}

// wait waits for the exit and returns the exit code.
func (c child) wait() (code int, gone bool) {
	status, err := c.process.Wait()
	if err != nil {
		return -1, true
	}
	return status.ExitCode(), true
}

func (child) reap()    {}
func (child) release() {}

func (child) interrupt() error { return errInterrupt }

// kill ends the process; its descendants live on.
func (c child) kill() { _ = c.process.Kill() }

// settleTime bounds settle.
const settleTime = 100 * time.Millisecond

// settle waits until the streams have ended, or for a while: reads can't be
// interrupted here, so if another process holds the streams it is not known
// when what was written before the exit has been read. It reports whether the
// streams have ended.
func (p *Process) settle() bool {
	ended := make(chan struct{})
	go func() { // ends before Closed, which waits for the same
		p.undrained.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return !p.lingering.Load()
	case <-time.After(settleTime):
		return false
	}
}

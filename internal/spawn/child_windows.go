package spawn

import (
	"errors"
	"os"
	"syscall"
	"time"

	"github.com/airlock-exec/airlock/internal/spawn/tree"
)

// system is what a Spawner needs of the platform: nothing.
type system struct{}

func (*system) open()              {}
func (*system) owned(*tree.Keeper) {}
func (*system) close()             {}

// child is the handle on a process.
type child struct {
	pid     int
	process *os.Process
}

var (
	errTTY       = errors.New("terminals are not supported on windows yet")
	errInterrupt = errors.New("interrupting a process is not supported on windows")
)

// launch starts cmd with pipes, as a tree of its own. Nothing is left open when
// it fails.
func (*system) launch(cmd *Command, keeper *tree.Keeper) (*Process, error) {
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
	process, t, err := plant(keeper, path, argv, &os.ProcAttr{
		Dir:   cmd.Dir,
		Env:   append([]string{}, cmd.Env...), // nil would mean ours
		Files: io.child,
		Sys:   &syscall.SysProcAttr{},
	})
	if err != nil {
		io.closeOurs()
		return nil, asOSError(err)
	}
	return newProcess(child{process.Pid, process}, t, io.input, false, io.streams), nil
}

// plant starts a program as a tree of its own.
func plant(keeper *tree.Keeper, path string, argv []string, attr *os.ProcAttr) (*os.Process, *tree.Tree, error) {
	t, err := keeper.New()
	if err != nil {
		return nil, nil, treeError(err)
	}
	if err := t.Enter(attr.Sys); err != nil {
		t.Release()
		return nil, nil, treeError(err)
	}
	process, err := os.StartProcess(path, argv, attr)
	t.Leave()
	if err != nil {
		t.Release()
		return nil, nil, err
	}
	if err := t.Started(process.Pid); err != nil {
		_, _ = process.Wait()
		t.Release()
		return nil, nil, treeError(err)
	}
	return process, t, nil
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

// kill ends the process; what it has started goes with its tree.
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

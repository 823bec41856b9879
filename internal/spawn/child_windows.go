package spawn

import (
	"errors"
	"os"
	"syscall"
	"time"

	"github.com/airlock-exec/airlock/internal/spawn/tree"
)

// system is what a Spawner needs of the platform: nothing.
type system struct {
	helper, sandbox func() (path string, argv []string, err error) // not used
}

func (*system) open()              {}
func (*system) owned(*tree.Keeper) {}
func (*system) settle()            {}
func (*system) close()             {}

// child is the handle on a process.
type child struct {
	pid     int
	process *os.Process
}

var (
	errTTY = errors.New("terminals are not supported on windows yet")
)

// launch starts cmd with pipes, as a tree of its own. Nothing is left open when
// it fails.
func (*system) launch(cmd *Command, keeper *tree.Keeper, _ <-chan struct{}) (*Process, error) {
	if cmd.TTY != nil {
		return nil, errTTY
	}
	if !cmd.Limits.none() {
		return nil, unenforceable("limits can't be enforced on windows yet: %w", errors.ErrUnsupported)
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

// wait waits for the exit.
func (c child) wait() ending {
	status, err := c.process.Wait()
	if err != nil {
		return ending{code: -1, gone: true}
	}
	return ending{code: status.ExitCode(), gone: true}
}

func (child) reap()    {}
func (child) release() {}

// isDead can't be told before wait does.
func (child) isDead() bool { return false }

// Signals that there are none of.
const sigKill, sigXCPU, sigXFSZ = 0, 0, 0

// spentCPU is not known.
func spentCPU(int) uint64 { return 0 }

// spentByReaped is not known.
func spentByReaped(int) uint64 { return 0 }

// mechanisms is empty: nothing is enforced.
func (Limits) mechanisms(*tree.Tree) Mechanisms { return Mechanisms{} }

// hasGroups tells that there are no process groups.
const hasGroups = false

func (child) signal(sig Signal) (delivered bool, err error) { return false, errNoSignal(sig) }

// send can't send any.
func (p *Process) send(sig Signal) (delivered bool, err error) { return p.child.signal(sig) }

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

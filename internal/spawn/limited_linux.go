package spawn

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/airlock-exec/airlock/internal/helper"
	"github.com/airlock-exec/airlock/internal/helper/plan"
	"github.com/airlock-exec/airlock/internal/spawn/tree"
)

// A program with limits is executed by the helper, in the process that is the
// program's from then on: what limits a process can be set by itself only, and
// must not hold before.

// limited is a start with limits.
type limited struct {
	system *system
	keeper *tree.Keeper
	limits Limits
	argv   []string // the program's
	attr   *syscall.ProcAttr

	helper     string // the file
	helperArgv []string
}

// plantLimited starts a program as a tree of its own, within limits.
func (sys *system) plantLimited(keeper *tree.Keeper, cmd *Command, argv []string, attr *syscall.ProcAttr) (c child, t *tree.Tree, err error) {
	l := &limited{system: sys, keeper: keeper, limits: cmd.Limits, argv: argv, attr: attr}
	if l.helper, l.helperArgv, err = sys.helper(); err != nil {
		return child{}, nil, unenforceable("limits can't be enforced: %w", err)
	}
	attempt := func() error {
		return search(cmd.Argv[0], cmd.Dir, cmd.Env, func(path string) (err error) {
			c, t, err = l.try(path)
			return err
		})
	}
	err = attempt()
	for pause := time.Millisecond; err == syscall.ETXTBSY && pause <= busyPause; pause *= 2 { // see fork
		<-time.After(pause)
		err = attempt()
	}
	return c, t, err
}

// try executes the program at path. What the program is the reason for is a bare
// system error.
func (l *limited) try(path string) (child, *tree.Tree, error) {
	for broken := false; ; {
		t, err := l.keeper.NewBounded(tree.Bounds{MemoryBytes: l.limits.MemoryBytes, Processes: l.limits.Processes})
		if refused, ok := errors.AsType[*tree.UnenforceableError](err); ok {
			return child{}, nil, errNoGroup(refused)
		}
		if err != nil {
			return child{}, nil, treeError(err)
		}
		c, forked, err := l.execute(path, t)
		if err == nil {
			return c, t, nil
		}
		again := false
		if forked {
			l.discard(c, t)
		} else {
			again = !broken && t.Broken(err)
			t.Release()
			err = helperError(err)
		}
		if !again {
			return child{}, nil, err
		}
		broken = true
	}
}

// execute forks the helper in a tree and has it execute the program. It tells
// whether there is a child, which it leaves to the caller also after an error.
func (l *limited) execute(path string, t *tree.Tree) (c child, forked bool, err error) {
	p := &plan.Plan{
		Path: path, Argv: l.argv, Env: l.attr.Env, Dir: l.attr.Dir,
		Parent: os.Getpid(), DeathSignal: int(l.attr.Sys.Pdeathsig),
		Rlimits: l.limits.rlimits(),
	}
	for _, w := range t.Entry() {
		p.Writes = append(p.Writes, plan.Write(w))
	}
	file, err := planFile(p)
	if err != nil {
		return child{}, false, err
	}
	defer unix.Close(file)
	answers, answerFD, err := answerPipe()
	if err != nil {
		return child{}, false, err
	}
	defer answers.Close()

	attr := *l.attr
	attr.Dir = ""
	// The environment of the program is none of the helper's; see package warden.
	attr.Env = []string{"GOMAXPROCS=1", "GODEBUG=containermaxprocs=0"}
	attr.Files = append(slices.Clip(attr.Files), uintptr(file), uintptr(answerFD))
	sys := *l.attr.Sys
	attr.Sys = &sys

	known := l.system.orphans.forking()
	c, err = l.system.forkIn(t, attr.Sys, func() (child, error) { return forkExec(l.helper, l.helperArgv, &attr) })
	known(&c)
	unix.Close(answerFD)
	if err != nil {
		return c, c.pid != 0, err
	}
	// By the fork alone nothing is executed yet.
	_ = answers.SetReadDeadline(time.Now().Add(answerPatience))
	b, err := io.ReadAll(io.LimitReader(answers, maxAnswers))
	if err != nil {
		return c, true, &Error{Kind: Failed, Err: fmt.Errorf("waiting for the helper to execute the program: %w", err)}
	}
	answer, ok := plan.DecodeAnswers(b)
	if !ok {
		return c, true, l.died(c, t)
	}
	return c, true, l.judge(answer, p)
}

const (
	// answerPatience bounds how long the helper may take, on a busy machine.
	answerPatience = 30 * time.Second
	// maxAnswers is more than the helper says.
	maxAnswers = 4096
)

// judge returns what an answer means.
func (l *limited) judge(a plan.Answer, p *plan.Plan) error {
	switch {
	case a.Step == plan.Executing:
		return nil
	case a.Step == plan.Entering, a.Step == plan.Execution:
		return a.Errno
	case a.Step == plan.Limiting && a.Index < len(p.Rlimits):
		return errNoRlimit(p.Rlimits[a.Index], a.Errno)
	case a.Step == plan.Writing && a.Index < len(p.Writes):
		w := p.Writes[a.Index]
		return unenforceable("limits can't be enforced: writing %q to %s: %w", w.Text, w.Path, asOSError(a.Errno))
	}
	return &Error{Kind: Failed, Err: fmt.Errorf("the helper can't do what is to be done before the program is executed: %w", asOSError(a.Errno))}
}

// died returns why the helper may have died.
func (l *limited) died(c child, t *tree.Tree) error {
	end, _ := c.status(0)
	if t.OutOfMemory() {
		return unenforceable("the limit of %d bytes of memory is too small for any program to be executed: raise it", l.limits.MemoryBytes)
	}
	return &Error{Kind: Failed, Err: fmt.Errorf("the helper has ended before it could execute the program, with status %d", end.code)}
}

// discard ends a helper that has not executed the program.
func (l *limited) discard(c child, t *tree.Tree) {
	c.kill()
	_, _ = c.status(0)
	t.Reaping()
	c.reap()
	c.release()
	if t.Kill() { // otherwise the keeper sees to it
		t.Release()
	}
}

// planFile returns a file that holds a plan.
func planFile(p *plan.Plan) (int, error) {
	fd, err := unix.MemfdCreate("airlock-plan", unix.MFD_CLOEXEC|unix.MFD_NOEXEC_SEAL)
	if err == unix.EINVAL { // before Linux 6.3
		fd, err = unix.MemfdCreate("airlock-plan", unix.MFD_CLOEXEC)
	}
	if err != nil {
		return -1, err
	}
	for b := p.Append(nil); len(b) > 0; {
		n, err := unix.Write(fd, b)
		if err != nil && err != unix.EINTR {
			unix.Close(fd)
			return -1, err
		}
		b = b[max(n, 0):]
	}
	return helper.Raise(fd)
}

// answerPipe returns both ends of the pipe for answers; the second is the
// helper's.
func answerPipe() (answers *os.File, fd int, err error) {
	r, w, err := pipe()
	if err != nil {
		return nil, -1, err
	}
	if answers, err = pollable(r, "answers"); err != nil {
		unix.Close(w)
		return nil, -1, err
	}
	if w, err = helper.Raise(w); err != nil {
		answers.Close()
		return nil, -1, err
	}
	return answers, w, nil
}

// helperError is for a helper that could not be executed. Whatever is missing, it
// is not the program.
func helperError(err error) error {
	if _, ok := errors.AsType[*Error](err); ok {
		return err
	}
	return &Error{Kind: Failed, Err: fmt.Errorf("executing the helper: %w", asOSError(err))}
}

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

	stop <-chan struct{} // closed when nobody wants the program any more
}

// plantLimited starts a program as a tree of its own, within limits. When stop is
// closed before the program has been executed it gives up, with errStopped.
func (sys *system) plantLimited(
	keeper *tree.Keeper, cmd *Command, argv []string, attr *syscall.ProcAttr, stop <-chan struct{},
) (c child, t *tree.Tree, err error) {
	l := &limited{system: sys, keeper: keeper, limits: cmd.Limits, argv: argv, attr: attr, stop: stop}
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
		t, err := newTree(l.keeper, l.limits, false)
		if err != nil {
			return child{}, nil, err
		}
		c, forked, err := l.execute(path, t)
		if err == nil {
			return c, t, nil
		}
		again := false
		if forked {
			discard(c, t)
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
	attr.Env = helperEnv
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
	// Others may have the pipe, or it may take its time to die.
	finish := watch(c, l.stop, func() { _ = answers.SetReadDeadline(time.Unix(1, 0)) })
	b, err := io.ReadAll(io.LimitReader(answers, maxAnswers))
	answer, ok := plan.DecodeAnswers(b)
	var end ending
	if err == nil && !ok {
		end, _ = c.status(0) // it has ended, or is about to
	}
	switch given := finish(); {
	case given != nil:
		return c, true, given
	case err != nil:
		return c, true, &Error{Kind: Failed, Err: fmt.Errorf("waiting for the helper to execute the program: %w", err)}
	case !ok:
		return c, true, l.died(end, t)
	}
	return c, true, meaning(answer, p)
}

// maxAnswers is more than the helper says.
const maxAnswers = 8 << 10

// meaning returns what an answer means.
func meaning(a plan.Answer, p *plan.Plan) error {
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

func tooLittleMemory(limit uint64) error {
	return unenforceable("the limit of %d bytes of memory is too small for any program to be executed: raise it", limit)
}

// died returns why the helper may have died.
func (l *limited) died(end ending, t *tree.Tree) error {
	if t.OutOfMemory() {
		return tooLittleMemory(l.limits.MemoryBytes)
	}
	return &Error{Kind: Failed, Err: fmt.Errorf("the helper has ended before it could execute the program, with status %d", end.code)}
}

// helperError is for a helper that could not be executed. Whatever is missing, it
// is not the program.
func helperError(err error) error {
	if _, ok := errors.AsType[*Error](err); ok {
		return err
	}
	return &Error{Kind: Failed, Err: fmt.Errorf("executing the helper: %w", asOSError(err))}
}

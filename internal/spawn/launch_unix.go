//go:build unix

package spawn

import (
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/airlock-exec/airlock/internal/spawn/tree"
)

// system is what a Spawner needs of the platform: threads to fork on, and
// somebody who reaps orphans.
type system struct {
	threads threads
	orphans orphans
	// helper returns how to execute what executes a program with limits, sandbox
	// what confines one.
	helper, sandbox func() (path string, argv []string, err error)
	prepared        preparedHelpers
	lifeline        atomic.Pointer[os.File]
}

func (sys *system) open() {
	prepare()
	sys.threads.open()
}

// owned tells, before the first start, that the program exists for the Spawner
// only, and how its trees are held together.
func (sys *system) owned(keeper *tree.Keeper) {
	if keeper.Subreaper() || os.Getpid() == 1 {
		sys.orphans.start()
	}
}

// settle ends what is no process of anybody's, before the trees are closed.
func (sys *system) settle() { sys.prepared.close() }

func (sys *system) close() {
	sys.orphans.close()
	sys.threads.close()
}

// launch starts cmd, as a tree of its own. Nothing is left open when it fails. When
// stop is closed it may give up with errStopped.
func (sys *system) launch(cmd *Command, keeper *tree.Keeper, stop <-chan struct{}) (*Process, error) {
	if cmd.Confinement != nil {
		return sys.launchConfined(cmd, keeper, stop)
	}
	io, err := openStdio(cmd)
	if err != nil {
		return nil, err
	}
	defer io.closeChild()

	attr := &syscall.ProcAttr{
		Dir:   cmd.Dir,
		Env:   cmd.Env,
		Files: io.files(),
		Sys:   &syscall.SysProcAttr{Setsid: true, Setctty: cmd.TTY != nil},
	}
	if cmd.TTY == nil {
		// A terminal hangs up when we die. What runs without one has to be
		// told.
		signalOnDeath(attr.Sys)
	}
	argv := cmd.Argv
	if cmd.Arg0 != nil {
		argv = append([]string{*cmd.Arg0}, argv[1:]...)
	}

	var c child
	var t *tree.Tree
	if cmd.Limits.none() {
		forked := sys.orphans.forking()
		c, t, err = sys.plant(keeper, cmd.Argv[0], argv, attr)
		forked(&c)
	} else {
		c, t, err = sys.plantLimited(keeper, cmd, argv, attr, stop)
	}
	if err != nil {
		io.closeOurs()
		return nil, asOSError(err)
	}
	p := newProcess(c, t, io.input, cmd.TTY != nil, io.streams)
	p.limit(cmd.Limits, t)
	return p, nil
}

// plant starts program as a tree of its own.
func (sys *system) plant(keeper *tree.Keeper, program string, argv []string, attr *syscall.ProcAttr) (child, *tree.Tree, error) {
	for broken := false; ; {
		t, err := keeper.New()
		if err != nil {
			return child{}, nil, treeError(err)
		}
		c, err := sys.forkIn(t, attr.Sys, func() (child, error) { return execute(program, argv, attr) })
		if err == nil {
			return c, t, nil
		}
		again := !broken && t.Broken(err)
		t.Release()
		if !again {
			return child{}, nil, err
		}
		broken = true
	}
}

// forkIn has exec start the leader of a tree.
func (sys *system) forkIn(t *tree.Tree, attr *syscall.SysProcAttr, exec func() (child, error)) (c child, err error) {
	attempt := func() {
		if err = t.Enter(attr); err != nil {
			err = treeError(err)
			return
		}
		if c, err = exec(); err == nil {
			err = t.Started(c.pid)
		}
		t.Leave()
	}
	sys.threads.do(attempt)
	// A file that we have just written may still be open for writing in other
	// children: each holds copies of all our descriptors until it has executed
	// its program. Nothing tells when the last copy is closed.
	for pause := time.Millisecond; err == syscall.ETXTBSY && pause <= busyPause; pause *= 2 {
		<-time.After(pause)
		sys.threads.do(attempt)
	}
	return c, err
}

// busyPause is the last and longest of the pauses before another attempt to
// execute a file that is open for writing; together they last twice as long.
const busyPause = 32 * time.Millisecond

// execute runs program, after a search if it is a bare name.
func execute(program string, argv []string, attr *syscall.ProcAttr) (child, error) {
	var c child
	err := search(program, attr.Dir, attr.Env, func(path string) (err error) {
		c, err = forkExec(path, argv, attr)
		return err
	})
	return c, err
}

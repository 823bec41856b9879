//go:build unix

package spawn

import (
	"syscall"
	"time"
)

// system is what a Spawner needs of the platform: threads to fork on.
type system struct {
	threads threads
}

func (sys *system) open() {
	prepare()
	sys.threads.open()
}

func (sys *system) close() { sys.threads.close() }

// launch starts cmd. Nothing is left open when it fails.
func (sys *system) launch(cmd *Command) (*Process, error) {
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
	attempt := func() { c, err = execute(cmd.Argv[0], argv, attr) }
	sys.threads.do(attempt)
	// A file that we have just written may still be open for writing in other
	// children: each holds copies of all our descriptors until it has executed
	// its program. Nothing tells when the last copy is closed.
	for pause := time.Millisecond; err == syscall.ETXTBSY && pause <= busyPause; pause *= 2 {
		<-time.After(pause)
		sys.threads.do(attempt)
	}
	if err != nil {
		io.closeOurs()
		return nil, asOSError(err)
	}
	return newProcess(c, io.input, cmd.TTY != nil, io.streams), nil
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

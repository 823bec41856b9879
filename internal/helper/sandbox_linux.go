package helper

import (
	"runtime"
	"runtime/debug"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/airlock-exec/airlock/internal/helper/plan"
)

// keeper is the process that stays with a confined program.
type keeper struct {
	daemon channel
	plan   *plan.Plan
	// streams are the program's, files what else has come for it.
	streams [3]int
	program int // -1 if Plan.Path names it
	writes  []int
	forked  chan int // the program's process, once there is one
	reports *reports // of what it is not let do; nil if there are none
}

// memoryLimit is from where on the helper collects garbage.
const memoryLimit = 16 << 20

// runSandbox gets ready, waits for its one task, and stays until that has ended.
func runSandbox() int {
	if !isSocket(plan.ControlFD) {
		return refuse("sandbox needs a socket from the daemon")
	}
	// What is set is set for this thread, which forks the program. Other threads
	// are never started from it.
	runtime.LockOSThread()
	// There is nothing to collect before the program runs; later on what the program
	// does must not make us grow.
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(memoryLimit)
	unix.CloseOnExec(plan.ControlFD)
	closeInherited(plan.LifelineFD)
	unix.CloseOnExec(plan.LifelineFD)
	setName("airlock-init")
	// Before there is anything to be had from this process: nobody looks into it.
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	k := &keeper{daemon: plan.ControlFD, program: -1, forked: make(chan int, 1)}
	k.forward()
	var w *workshop
	if unix.Getpid() == 1 {
		w = newWorkshop()
	} else {
		_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	}
	if err := k.await(); err != nil {
		if err == errClosed {
			return 0
		}
		return k.tell(err)
	}
	go k.obey()
	if err := k.setUp(w); err != nil {
		return k.tell(err)
	}
	return k.stay(k.start())
}

// tell tells the daemon what has failed.
func (k *keeper) tell(err error) int {
	f, ok := err.(*failure) //nolint:errorlint // none is wrapped
	if !ok {
		f = &failure{plan.Answer{Step: plan.Reading, Errno: errnoOf(err), Detail: err.Error()}}
	}
	_ = k.daemon.send(f.Answer)
	return exitExec
}

// await waits for the task.
func (k *keeper) await() error {
	m, files, err := k.daemon.receive()
	if err != nil {
		return err
	}
	if _, ok := m.(plan.Assign); !ok || len(files) < plan.AssignedFiles || len(files) > plan.AssignedFiles+1 {
		return failed(plan.Reading, "the task has "+strconv.Itoa(len(files))+" descriptors", unix.EINVAL)
	}
	// Upwards from the last one, as a fork puts something of its own right above the
	// streams; see Raise. The lowest numbers will be those of the program's.
	lowest := plan.ControlFD + 1
	for i := len(files) - 1; i >= 0; i-- {
		fd, err := unix.FcntlInt(uintptr(files[i]), unix.F_DUPFD_CLOEXEC, lowest)
		if err != nil {
			return failed(plan.Reading, "the descriptors of the task", err)
		}
		unix.Close(files[i])
		files[i], lowest = fd, fd+1
	}
	k.plan, err = readPlan(files[0])
	unix.Close(files[0])
	if err == nil && k.plan.Confine == nil {
		err = unix.EINVAL
	}
	if err != nil {
		return failed(plan.Reading, err.Error(), err)
	}
	copy(k.streams[:], files[1:])
	if len(files) > plan.AssignedFiles {
		k.program = files[plan.AssignedFiles]
	}
	if (k.plan.Path == "") != (k.program >= 0) || len(k.plan.Argv) == 0 {
		return failed(plan.Reading, "the plan names no program, or two", unix.EINVAL)
	}
	return nil
}

// setUp does all that there is to be done before the program is forked.
func (k *keeper) setUp(w *workshop) error {
	p, c := k.plan, k.plan.Confine
	if c.Isolated != (w != nil) {
		return failed(plan.Isolating, "the helper is the first process of its namespaces if there are to be some, and not otherwise", unix.EPERM)
	}
	if !c.Isolated && (c.Offline || len(c.Listen) > 0 || len(c.Mounts) > 0) {
		return failed(plan.Isolating, "mounts and a network of its own take namespaces", unix.EPERM)
	}
	// The root changes below; these are files of the host.
	for i, write := range p.Writes {
		fd, err := unix.Open(write.Path, unix.O_WRONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return indexed(plan.Writing, i, write.Path, err)
		}
		k.writes = append(k.writes, fd)
	}
	if c.Isolated {
		terminal := -1
		if p.TTY {
			terminal = k.streams[0]
		}
		if err := w.build(c, terminal); err != nil {
			return err
		}
	}
	if len(c.Listen) > 0 {
		sockets, err := listen(c.Listen)
		if err == nil {
			err = k.daemon.send(plan.Listeners{Count: len(sockets)}, sockets...)
			closeAll(sockets)
		}
		if err != nil {
			return err
		}
	}
	if !c.Privileged {
		if err := dropCapabilities(); err != nil {
			return err
		}
	}
	if err := ownStreams(w); err != nil {
		return err
	}
	if p.Dir != "" {
		if err := unix.Chdir(p.Dir); err != nil {
			return failed(plan.Entering, p.Dir, err)
		}
	}
	return nil
}

// indexed returns what has failed of several.
func indexed(step plan.Step, i int, detail string, err error) error {
	return &failure{plan.Answer{Step: step, Index: i, Errno: errnoOf(err), Detail: detail}}
}

// ownStreams puts the null device in the place of what the daemon has started the
// helper with.
func ownStreams(w *workshop) (err error) {
	var null int
	if w != nil {
		null = w.null
	} else if null, err = unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0); err != nil {
		return failed(plan.Devices, "/dev/null", err)
	}
	for fd := range 3 {
		if err := unix.Dup3(null, fd, 0); err != nil {
			return failed(plan.Devices, "/dev/null", err)
		}
	}
	unix.Close(null)
	return nil
}

// obey carries out what the daemon sends, until that is gone; then nothing is left.
func (k *keeper) obey() {
	leader := 0
	for {
		m, files, err := k.daemon.receive()
		closeAll(files)
		if err != nil {
			break
		}
		if s, ok := m.(plan.Signal); ok {
			if leader == 0 {
				leader = <-k.forked
				k.forked <- leader
			}
			_ = unix.Kill(-leader, syscall.Signal(s.Signal))
		}
	}
	k.end(exitExec)
}

func isSocket(fd int) bool {
	var s unix.Stat_t
	return unix.Fstat(fd, &s) == nil && s.Mode&unix.S_IFMT == unix.S_IFSOCK
}

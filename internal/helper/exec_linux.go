package helper

import (
	"os"
	"runtime"
	"runtime/debug"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/airlock-exec/airlock/internal/helper/plan"
)

// exitExec is the exit status when the program could not be executed; the daemon
// has been told why.
const exitExec = 126

// runExec carries out a plan, which ends with the execution of a program in the
// place of this one. It returns only if that fails.
func runExec() int {
	var pipe unix.Stat_t
	if err := unix.Fstat(plan.AnswerFD, &pipe); err != nil || pipe.Mode&unix.S_IFMT != unix.S_IFIFO {
		return refuse("exec needs a plan and a pipe from the daemon")
	}
	unix.CloseOnExec(plan.PlanFD)
	unix.CloseOnExec(plan.AnswerFD)
	// What is set is set for a thread, which then executes the program.
	runtime.LockOSThread()
	debug.SetGCPercent(-1)

	p, err := readPlan(plan.PlanFD)
	if err != nil {
		return tell(plan.Answer{Step: plan.Reading, Errno: unix.EINVAL})
	}
	return tell(carryOut(p))
}

// tell tells the daemon.
func tell(a plan.Answer) int {
	_, _ = unix.Write(plan.AnswerFD, a.Append(nil))
	return exitExec
}

func readPlan(fd int) (*plan.Plan, error) {
	var s unix.Stat_t
	if err := unix.Fstat(fd, &s); err != nil {
		return nil, err
	}
	b := make([]byte, s.Size)
	for done := 0; done < len(b); {
		n, err := unix.Pread(fd, b[done:], int64(done))
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			return nil, os.NewSyscallError("pread", err)
		}
		done += n
	}
	return plan.Decode(b)
}

// carryOut does what there is to be done. It returns what has failed.
func carryOut(p *plan.Plan) plan.Answer {
	failed := func(step plan.Step, i int, err error) plan.Answer {
		errno, _ := err.(syscall.Errno) //nolint:errorlint // all are bare
		return plan.Answer{Step: step, Index: i, Errno: errno}
	}
	if p.DeathSignal != 0 {
		// The thread that executes the program has to have it, whichever that is.
		if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(p.DeathSignal), 0, 0, 0); err != nil {
			return failed(plan.Reading, 0, err)
		}
		if unix.Getppid() != p.Parent {
			_ = unix.Kill(unix.Getpid(), syscall.Signal(p.DeathSignal))
		}
	}
	if p.Dir != "" {
		if err := unix.Chdir(p.Dir); err != nil {
			return failed(plan.Entering, 0, err)
		}
	}
	// Within the limits there may be no more files for us, and no threads: what
	// needs some is done before.
	fds := make([]int, len(p.Writes))
	texts := make([][]byte, len(p.Writes))
	for i, w := range p.Writes {
		fd, err := unix.Open(w.Path, unix.O_WRONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return failed(plan.Writing, i, err)
		}
		fds[i], texts[i] = fd, []byte(w.Text+"\n")
	}
	for i, r := range p.Rlimits {
		limit := syscall.Rlimit{Cur: r.Soft, Max: r.Hard}
		// Not by package unix: package syscall, which has raised the limit on
		// open files for us, puts the old one back otherwise.
		if err := syscall.Setrlimit(r.Resource, &limit); err != nil {
			return failed(plan.Limiting, i, err)
		}
	}
	executing := plan.Answer{Step: plan.Executing}.Append(nil)
	for i, fd := range fds {
		if errno := rawWrite(fd, texts[i]); errno != 0 {
			return failed(plan.Writing, i, errno)
		}
	}
	_ = rawWrite(plan.AnswerFD, executing)
	return failed(plan.Execution, 0, syscall.Exec(p.Path, p.Argv, p.Env))
}

// rawWrite writes without telling the scheduler.
func rawWrite(fd int, b []byte) syscall.Errno {
	for {
		_, _, errno := unix.RawSyscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
		if errno != unix.EINTR {
			return errno
		}
	}
}

package helper

import (
	"runtime"
	"runtime/debug"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/airlock-exec/airlock/internal/helper/plan"
)

// Descriptors of the second stage besides the standard streams: a channel to the
// first one, the plan, the program if there is a file of it, and one for each of
// Plan.Writes.
const (
	stageChannelFD = 3
	stagePlanFD    = 4
)

// runStage restricts itself, sets the limits, and executes the program in its
// place. It returns only if that fails.
func runStage() int {
	if !isSocket(stageChannelFD) {
		return refuse("stage needs a socket from the helper")
	}
	runtime.LockOSThread()
	debug.SetGCPercent(-1)
	_ = unix.CloseRange(stageChannelFD, ^uint(0), unix.CLOSE_RANGE_CLOEXEC)
	p, err := readPlan(stagePlanFD)
	if err == nil && p.Confine == nil {
		err = unix.EINVAL
	}
	up := channel(stageChannelFD)
	if err != nil {
		err = failed(plan.Reading, err.Error(), err)
	} else {
		err = limit(p, up)
	}
	if f, ok := err.(*failure); ok { //nolint:errorlint // none is wrapped
		_ = up.send(f.Answer)
		return exitExec
	}
	files := candidates(p)
	if p.Path == "" {
		files = []string{"/proc/self/fd/" + strconv.Itoa(stagePlanFD+1)}
	}
	err = try(files, isSearched(p), func(file string) error { return syscall.Exec(file, p.Argv, p.Env) })
	return explain(2, nameOf(p), err)
}

// limit puts this process into its restrictions and limits, and says so.
func limit(p *plan.Plan, up channel) error {
	listener, err := restrict(p.Confine)
	if err != nil {
		return err
	}
	for i, r := range p.Rlimits {
		// See carryOut for why it is package syscall.
		if err := syscall.Setrlimit(r.Resource, &syscall.Rlimit{Cur: r.Soft, Max: r.Hard}); err != nil {
			return indexed(plan.Limiting, i, "", err)
		}
	}
	fd := stagePlanFD + 1
	if p.Path == "" {
		fd++
	}
	for i, w := range p.Writes {
		if errno := rawWrite(fd+i, []byte(w.Text+"\n")); errno != 0 {
			return indexed(plan.Writing, i, w.Path, errno)
		}
	}
	executing := plan.Answer{Step: plan.Executing}
	if listener < 0 {
		err = up.send(executing)
	} else {
		err = up.send(executing, listener)
		unix.Close(listener)
	}
	return failed(plan.Forking, "", err)
}

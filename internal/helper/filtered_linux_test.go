package helper

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/airlock-exec/airlock/internal/helper/plan"
	"github.com/airlock-exec/airlock/internal/sandbox/seccomp"
)

// A test runs this program twice more: once to put a filter on itself, and then,
// executed by that, as what runs under it.
const (
	filterStage = "AIRLOCK_TEST_FILTER"
	tryStage    = "AIRLOCK_TEST_TRY"
	// raceAtOnce keeps the race detector from waiting at the end of each.
	raceAtOnce = "GORACE=atexit_sleep_ms=0"
)

// tries are what can run under a filter.
var tries = map[string]func(args []string){
	"calls":       func([]string) { tryCalls() },
	"again":       func([]string) { tryAgain() },
	"twice":       func([]string) { tryTwice() },
	"connections": func(args []string) { tryConnections(args[0], args[1]) },
	"connect":     tryConnect,
	"hang":        func(args []string) { tryHanging(args[0], args[1]) },
	"interrupted": func([]string) { tryInterrupted() },
	"swap":        func(args []string) { trySwapping(args[0], args[1]) },
	"crowd":       func([]string) { tryCrowd() },
	"storm":       func(args []string) { tryStorm(args[0]) },
	"rate":        func(args []string) { tryRate(args[0], args[1]) },
	"landlock":    func(args []string) { tryLandlock(args[0], args[1], args[2]) },
}

func init() {
	switch {
	case os.Getenv(filterStage) != "":
		if err := filterMyself(); err != nil {
			fmt.Println("no filter:", err)
		}
		os.Exit(99)
	case os.Getenv(tryStage) != "":
		args := strings.Split(os.Getenv(tryStage), " ")
		try, ok := tries[args[0]]
		if !ok {
			fmt.Println("there is no", args[0])
			os.Exit(99)
		}
		try(args[1:])
		os.Exit(0)
	}
}

// filterMyself puts the filter at descriptor 3 on this thread, sends the listener
// over descriptor 4, and goes on as what is to run under the filter.
func filterMyself() error {
	runtime.LockOSThread()
	filter, err := io.ReadAll(os.NewFile(3, "filter"))
	if err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	listener, err := installFilter(filter)
	if err != nil {
		return err
	}
	var rights []byte
	if listener >= 0 {
		rights = unix.UnixRights(listener)
	}
	if err := unix.Sendmsg(4, []byte{1}, rights, nil, 0); err != nil {
		return err
	}
	// Wait until there is somebody who answers.
	if _, err := unix.Read(4, make([]byte, 1)); err != nil {
		return err
	}
	unix.Close(4)
	env := append(os.Environ(), tryStage+"="+os.Getenv(filterStage))
	env = slices.DeleteFunc(env, func(e string) bool { return strings.HasPrefix(e, filterStage+"=") })
	return syscall.Exec("/proc/self/exe", os.Args, env)
}

// filtered runs something under a filter. It returns what that prints, and what
// was denied.
func filtered(t *testing.T, o seccomp.Options, sockets plan.Sockets, try ...string) (string, []plan.Denial) {
	t.Helper()
	filter, err := seccomp.Compile(o)
	if err != nil {
		t.Skip(err)
	}
	f := startFiltered(t, filter, sockets, try...)
	out := f.wait(t)
	return out, f.denials()
}

type filteredRun struct {
	cmd    *exec.Cmd
	out    bytes.Buffer
	done   chan struct{} // the supervisor has ended
	lock   sync.Mutex
	denied []plan.Denial
}

func startFiltered(t testing.TB, filter []byte, sockets plan.Sockets, try ...string) *filteredRun {
	t.Helper()
	f := &filteredRun{done: make(chan struct{})}
	text, err := memoryFile(filter)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = unix.Seek(text, 0, io.SeekStart)
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pair[0])
	f.cmd = exec.CommandContext(t.Context(), "/proc/self/exe")
	f.cmd.Env = append(os.Environ(), raceAtOnce, filterStage+"="+strings.Join(try, " "))
	f.cmd.ExtraFiles = []*os.File{os.NewFile(uintptr(text), "filter"), os.NewFile(uintptr(pair[1]), "control")}
	f.cmd.Stdout, f.cmd.Stderr = &f.out, &f.out
	if err := f.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for _, file := range f.cmd.ExtraFiles {
		file.Close()
	}
	listener := receiveListener(t, pair[0])
	if listener < 0 {
		close(f.done)
	} else {
		c := &plan.Confinement{Filter: filter, Sockets: sockets}
		go func() {
			defer close(f.done)
			supervise(listener, c, newReports(func(d plan.Denial) bool {
				f.lock.Lock()
				defer f.lock.Unlock()
				f.denied = append(f.denied, d)
				return true
			}))
		}()
	}
	if _, err := unix.Write(pair[0], []byte{1}); err != nil {
		t.Error(err)
	}
	return f
}

// receiveListener returns the listener that is sent over a socket, or -1.
func receiveListener(t testing.TB, socket int) int {
	t.Helper()
	rights := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := unix.Recvmsg(socket, make([]byte, 1), rights, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	messages, err := unix.ParseSocketControlMessage(rights[:n])
	if err != nil || len(messages) == 0 {
		return -1
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		t.Fatal(err)
	}
	return fds[0]
}

// wait waits until what runs, and the supervisor, have ended.
func (f *filteredRun) wait(t testing.TB) string {
	t.Helper()
	err := f.cmd.Wait()
	<-f.done
	if err != nil {
		t.Errorf("%v: %s", err, &f.out)
	}
	return f.out.String()
}

func (f *filteredRun) denials() []plan.Denial {
	f.lock.Lock()
	defer f.lock.Unlock()
	return slices.Clone(f.denied)
}

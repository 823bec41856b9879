package helper

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/airlock-exec/airlock/internal/helper/plan"
	"github.com/airlock-exec/airlock/internal/sandbox/seccomp"
)

func tryCalls() {
	raw := func(name string, number uintptr, args ...uintptr) {
		args = append(args, make([]uintptr, 6-len(args))...)
		_, _, errno := unix.Syscall6(number, args[0], args[1], args[2], args[3], args[4], args[5])
		fmt.Println(name, unix.ErrnoName(errno))
	}
	raw("ptrace", unix.SYS_PTRACE, unix.PTRACE_ATTACH, 1<<22)
	raw("add_key", unix.SYS_ADD_KEY)
	raw("keyctl", unix.SYS_KEYCTL, 0, 0xfffffffd)
	raw("bpf", unix.SYS_BPF, 99)
	raw("perf_event_open", unix.SYS_PERF_EVENT_OPEN)
	raw("userfaultfd", unix.SYS_USERFAULTFD, 1)
	raw("io_uring_setup", unix.SYS_IO_URING_SETUP, 1)
	raw("unshare", unix.SYS_UNSHARE, unix.CLONE_NEWUSER)
	raw("clone3", unix.SYS_CLONE3)
	raw("mount", unix.SYS_MOUNT)
	raw("ioctl", unix.SYS_IOCTL, 99, 0xffffffff_00000000|unix.TIOCSTI)
	raw("socket-inet", unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_STREAM)
	raw("socket-vsock", unix.SYS_SOCKET, unix.AF_VSOCK, unix.SOCK_STREAM)
	raw("socketpair-dgram", unix.SYS_SOCKETPAIR, unix.AF_UNIX, unix.SOCK_DGRAM)
	raw("x32", unix.SYS_GETPID|0x40000000)
}

func tryAgain() {
	for range 1000 {
		_, _ = unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	}
	for i := range 200 {
		fd, _ := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		_ = unix.Connect(fd, &unix.SockaddrUnix{Name: fmt.Sprint("/no/", i)})
	}
}

func tryTwice() {
	runtime.LockOSThread()
	for _, o := range []seccomp.Options{{Mode: seccomp.Open, Judge: true}, {Mode: seccomp.Restricted, Report: true}} {
		filter, _ := seccomp.Compile(o)
		listener, err := installFilter(filter)
		fmt.Println(listener, err)
	}
	_, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	fmt.Println(err)
}

var deniedCalls = map[string]string{
	"ptrace": "EPERM", "add_key": "EPERM", "keyctl": "EPERM", "bpf": "EPERM", "perf_event_open": "EPERM",
	"userfaultfd": "EPERM", "io_uring_setup": "EPERM", "unshare": "EPERM", "clone3": "ENOSYS", "mount": "EPERM",
	"ioctl": "EPERM", "socket-inet": "EPERM", "socket-vsock": "EPERM", "socketpair-dgram": "EPERM", "x32": "EPERM",
}

// TestDenied: the kernel does what the filter says, and it is the same whether or
// not it is reported.
func TestDenied(t *testing.T) {
	t.Parallel()
	for _, report := range []bool{false, true} {
		out, denials := filtered(t, seccomp.Options{Mode: seccomp.Restricted, Report: report}, plan.Sockets{}, "calls")
		for name, want := range deniedCalls {
			if name == "x32" && unix.SYS_SOCKET != 41 {
				continue
			}
			if !slices.Contains(strings.Split(out, "\n"), name+" "+want) {
				t.Errorf("reported %v: %s is not answered %s: %s", report, name, want, out)
			}
		}
		var what []string
		for _, d := range denials {
			what = append(what, strings.TrimSpace(d.What+" "+d.Address))
		}
		slices.Sort(what)
		want := []string{
			"add_key", "bpf", "io_uring_setup", "ioctl", "keyctl", "mount", "perf_event_open", "ptrace",
			"socket AF_INET", "socket AF_VSOCK", "socketpair AF_UNIX", "unshare", "userfaultfd",
		}
		if !report {
			want = nil
		}
		if !slices.Equal(what, want) {
			t.Errorf("reported %v: %q, want %q", report, what, want)
		}
	}
}

// TestReportsAreBounded: whatever a program does, it is told in few words.
func TestReportsAreBounded(t *testing.T) {
	t.Parallel()
	out, denials := filtered(t, seccomp.Options{Mode: seccomp.Restricted, Report: true}, plan.Sockets{}, "again")
	if out != "" {
		t.Error(out)
	}
	counts := map[string]uint64{}
	paths := map[string]bool{}
	for _, d := range denials {
		counts[d.What] += d.Count
		paths[d.Path] = true
	}
	if counts["socket"] < 1000 || counts["socket"] > 1100 || counts["connect"] < 200 || counts["connect"] > 300 || len(counts) != 2 {
		t.Errorf("denied are %v; want 1000 sockets and 200 connections, or a few more that signals have interrupted", counts)
	}
	if len(paths) > maxReports+2 || !paths["/no/0"] {
		t.Errorf("%d paths are told, with those of sockets: %v", len(paths), paths)
	}
}

// TestSupervisedTwice: who runs under a filter with notifications can't have a
// second one. If that is only for reports there are none; else it fails.
func TestSupervisedTwice(t *testing.T) {
	t.Parallel()
	reporting, err := seccomp.Compile(seccomp.Options{Mode: seccomp.Restricted, Report: true})
	if err != nil {
		t.Skip(err)
	}
	if plain := withoutReports(reporting); notifies(plain, notifyDenial) || notifies(plain, notifyJudge) {
		t.Error("there are notifications without reports")
	}
	judging, err := seccomp.Compile(seccomp.Options{Mode: seccomp.Open, Judge: true, Report: true})
	if err != nil {
		t.Fatal(err)
	}
	if !notifies(judging, notifyJudge) || !notifies(judging, notifyDenial) || notifies(reporting, notifyJudge) {
		t.Error("what a filter notifies is not seen")
	}
	out, denials := filtered(t, seccomp.Options{Mode: seccomp.Open, Judge: true, Report: true}, plan.Sockets{}, "twice")
	if want := "-1 device or resource busy\n-1 <nil>\noperation not permitted\n"; out != want || len(denials) > 0 {
		t.Errorf("%q, %v; want %q", out, denials, want)
	}
}

func TestFilterThatIsNone(t *testing.T) {
	t.Parallel()
	for _, filter := range [][]byte{nil, make([]byte, 7), make([]byte, 8*(1<<16))} {
		if _, err := setFilter(filter, 0); err != unix.EINVAL {
			t.Errorf("%d bytes: %v", len(filter), err)
		}
	}
}

package spawn

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func init() {
	helpers["run"] = helperRun
}

// reexec returns a command that runs one of helpers in another process, from a
// shell that runs setup first.
func reexec(t *testing.T, name, setup string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/bin/sh", append([]string{"-c", setup + "\nexec \"$0\" \"$@\"", self}, args...)...)
	cmd.Env = append(os.Environ(), helperVariable+"="+name)
	cmd.Stderr = os.Stderr
	return cmd
}

// helperRun spawns its arguments and prints their output.
func helperRun() {
	s := open()
	defer s.Close()
	r := newRecord()
	if _, err := startFor(s, &Command{Argv: os.Args[1:], Dir: "/", Env: testEnv}, r); err != nil {
		fmt.Println(err)
		return
	}
	<-r.closed
	fmt.Print(r.text(Stdout), r.text(Stderr))
}

func TestEnvironmentIsVerbatim(t *testing.T) {
	t.Parallel()
	s := newSpawner(t)
	for _, env := range [][]string{
		nil,
		{"A=1"},
		{"A=B=1", "=x", "A=1", "A=2", "a=3", "novalue=", "Ü=ü\n", "PATH=/bin"},
		{"noequals"},
	} {
		cmd := &Command{Argv: []string{"/bin/cat", "/proc/self/environ"}, Dir: "/", Env: env}
		got := output(t, s, cmd)
		want := ""
		for _, entry := range env {
			want += entry + "\x00"
		}
		if got != want {
			t.Errorf("environment %q, want %q", got, want)
		}
	}
}

func TestArguments(t *testing.T) {
	t.Parallel()
	s := newSpawner(t)
	arg0, empty := "-sh", ""
	for _, test := range []struct {
		arg0 *string
		want string
	}{
		{nil, "/bin/cat\x00/proc/self/cmdline\x00--\x00\x00"},
		{&arg0, "-sh\x00/proc/self/cmdline\x00--\x00\x00"},
		{&empty, "\x00/proc/self/cmdline\x00--\x00\x00"},
	} {
		cmd := &Command{Argv: []string{"/bin/cat", "/proc/self/cmdline", "--", ""}, Arg0: test.arg0, Dir: "/"}
		_, r := start(t, s, cmd)
		<-r.closed // cat complains of its last argument
		if got := r.text(Stdout); got != test.want {
			t.Errorf("arguments %q, want %q", got, test.want)
		}
	}
}

// descriptors returns what `ls -l /proc/self/fd` says, without the folder that
// ls itself has open.
func descriptors(listing string) map[string]string {
	fds := map[string]string{}
	for line := range strings.Lines(listing) {
		before, target, ok := strings.Cut(strings.TrimSpace(line), " -> ")
		if !ok || strings.HasPrefix(target, "/proc/") {
			continue
		}
		fds[before[strings.LastIndexByte(before, ' ')+1:]] = target
	}
	return fds
}

func TestDescriptors(t *testing.T) {
	t.Parallel()
	s := newSpawner(t)
	list := &Command{Argv: []string{"ls", "-l", "/proc/self/fd"}, Dir: "/", Env: testEnv}
	check := func(name string, fds map[string]string, want ...string) {
		t.Helper()
		if len(fds) != 3 {
			t.Errorf("%s: descriptors %v, want 0, 1 and 2", name, fds)
		}
		for i, prefix := range want {
			if !strings.HasPrefix(fds[fmt.Sprint(i)], prefix) {
				t.Errorf("%s: descriptor %d is %q, want %s…", name, i, fds[fmt.Sprint(i)], prefix)
			}
		}
	}

	fds := descriptors(output(t, s, list))
	check("pipes", fds, "/dev/null", "pipe:", "pipe:")
	if fds["1"] == fds["2"] {
		t.Error("standard output and standard error are the same pipe")
	}

	withStdin := *list
	withStdin.Stdin = true
	check("pipes with stdin", descriptors(output(t, s, &withStdin)), "pipe:", "pipe:", "pipe:")

	tty := *list
	fds = descriptors(output(t, s, onTerminal(&tty)))
	check("terminal", fds, "/dev/pts/", "/dev/pts/", "/dev/pts/")
	if fds["0"] != fds["1"] || fds["1"] != fds["2"] {
		t.Errorf("terminals differ: %v", fds)
	}

	// Descriptors that this program was started with are not passed on.
	cmd := reexec(t, "run", "exec 5</dev/zero 9>/dev/null", list.Argv...)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	check("inherited", descriptors(string(out)), "/dev/null", "pipe:", "pipe:")
}

// stat returns the fields of /proc/PID/stat from the third on.
func stat(t *testing.T, text string) []string {
	t.Helper()
	_, rest, ok := strings.Cut(text, ") ")
	if !ok {
		t.Fatalf("unexpected /proc/self/stat %q", text)
	}
	return strings.Fields(rest)
}

func TestSession(t *testing.T) {
	t.Parallel()
	s := newSpawner(t)
	for _, tty := range []bool{false, true} {
		cmd := &Command{Argv: []string{"/bin/cat", "/proc/self/stat"}, Dir: "/"}
		if tty {
			onTerminal(cmd)
		}
		p, r := start(t, s, cmd)
		<-r.closed
		f := stat(t, r.text(Stdout)+r.text(Terminal))
		group, session, device, foreground := f[2], f[3], f[4], f[5]
		pid := fmt.Sprint(p.PID())
		if group != pid || session != pid {
			t.Errorf("tty %v: group %s, session %s, want %s", tty, group, session, pid)
		}
		switch {
		case !tty && (device != "0" || foreground != "-1"):
			t.Errorf("controlling terminal %s, foreground group %s, want none", device, foreground)
		case tty && (device == "0" || foreground != pid):
			t.Errorf("controlling terminal %s, foreground group %s, want one and %s", device, foreground, pid)
		}
	}
}

// signals returns the blocked and the ignored signals in /proc/self/status,
// without 32 and 33: these belong to the threads of the C library, which sets
// them up itself, and make ignores them in what it runs.
func signals(status string) []string {
	var masks []string
	for line := range strings.Lines(status) {
		name, text, _ := strings.Cut(strings.TrimSpace(line), ":\t")
		if !slices.Contains([]string{"SigBlk", "SigIgn"}, name) {
			continue
		}
		mask, err := strconv.ParseUint(text, 16, 64)
		if err != nil {
			return []string{err.Error()}
		}
		masks = append(masks, strings.TrimSuffix(fmt.Sprintf("%s %x", name, mask&^(3<<31)), "0"))
	}
	return masks
}

func TestSignalState(t *testing.T) {
	t.Parallel()
	s := newSpawner(t)
	cat := &Command{Argv: []string{"/bin/cat", "/proc/self/status"}, Dir: "/"}
	want := []string{"SigBlk ", "SigIgn "}
	if got := signals(output(t, s, cat)); !slices.Equal(got, want) {
		t.Errorf("signals %q, want none", got)
	}
	if got := signals(output(t, s, onTerminal(cat))); !slices.Equal(got, want) {
		t.Errorf("signals on a terminal %q, want none", got)
	}

	// Neither ignored nor blocked signals of ours reach a child.
	cmd := reexec(t, "run", "trap '' HUP INT QUIT TSTP TTOU USR1", "/bin/cat", "/proc/self/status")
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var set, old unix.Sigset_t
	set.Val[0] = 1<<(unix.SIGTERM-1) | 1<<(unix.SIGUSR2-1)
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, &set, &old); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.Output()
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &old, nil); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := signals(string(out)); !slices.Equal(got, want) {
		t.Errorf("signals of a child of a program that ignores and blocks some %q, want none", got)
	}
}

// The runtime raises the limit on open files for itself, not for children.
func TestLimitsAndMask(t *testing.T) {
	t.Parallel()
	out, err := reexec(t, "run", "ulimit -S -n 123; ulimit -c 0; umask 027", "/bin/sh", "-c", "ulimit -S -n; ulimit -c; umask").Output()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(out), "123\n0\n0027\n"; got != want {
		t.Errorf("limits and mask %q, want %q", got, want)
	}
}

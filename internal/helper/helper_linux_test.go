package helper

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"
)

// A program that does not know about the helper must not be executed again: it
// would be whatever it is a second time.
func TestUnhooked(t *testing.T) {
	if embedded != "" {
		t.Skip("this program has the helper embedded")
	}
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), itself)
	cmd.Args = []string{unhooked}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "true this program can't start Airlock's helper: ") {
		t.Errorf("Command in a program without the hook: %v, %s", err, out)
	}
}

// The embedded helper runs from a file that nobody can find or change.
func TestInMemory(t *testing.T) {
	t.Parallel()
	binary, err := os.ReadFile(itself)
	if err != nil {
		t.Fatal(err)
	}
	var m inMemory
	path, err := m.path(string(binary))
	if err != nil {
		t.Fatal(err)
	}
	defer m.file.Close()
	if again, err := m.path("another"); again != path || err != nil {
		t.Errorf("paths %q and %q, %v", path, again, err)
	}
	if status, text := run(t, path, Name, "unheard-of"); status != exitUsage || !strings.Contains(text, "unheard-of") {
		t.Errorf("exit status %d, %q", status, text)
	}

	fd := int(m.file.Fd())
	for what, err := range map[string]error{
		"write":    second(unix.Pwrite(fd, []byte("x"), 0)),
		"grow":     unix.Ftruncate(fd, 1<<30),
		"truncate": unix.Ftruncate(fd, 0),
		"unseal":   second(unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, 0)),
		"open":     second(unix.Open(path, unix.O_RDWR|unix.O_TRUNC, 0)),
	} {
		if !errors.Is(err, unix.EPERM) {
			t.Errorf("%s: %v, want %v", what, err, unix.EPERM)
		}
	}
	if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); flags&unix.FD_CLOEXEC == 0 {
		t.Errorf("others inherit the file: %d, %v", flags, err)
	}
}

func second(_ int, err error) error { return err }

// A fork moves the child's files to 0, 1, 2 and so on, over whatever is there:
// the file that is to be executed must stay out of the way.
func TestInMemoryBeyondFiles(t *testing.T) {
	t.Parallel()
	binary, err := os.ReadFile(itself)
	if err != nil {
		t.Fatal(err)
	}
	file, err := seal(string(binary))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	files := make([]uintptr, 40)
	for i := range files {
		fd, err := unix.FcntlInt(null.Fd(), unix.F_DUPFD_CLOEXEC, len(files))
		if err != nil {
			t.Fatal(err)
		}
		files[i] = uintptr(fd)
		t.Cleanup(func() { unix.Close(fd) })
	}
	pid, err := syscall.ForkExec("/proc/self/fd/"+strconv.Itoa(int(file.Fd())), []string{Name}, &syscall.ProcAttr{Files: files})
	if err != nil {
		t.Fatal(err)
	}
	var status syscall.WaitStatus
	for {
		if _, err = syscall.Wait4(pid, &status, 0, nil); err != syscall.EINTR {
			break
		}
	}
	if err != nil || status.ExitStatus() != exitUsage {
		t.Errorf("exit status %d, %v; want %d", status.ExitStatus(), err, exitUsage)
	}
}

func TestSweepAll(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name     string
		failures map[string]int
		calls    string
		want     bool
		took     time.Duration
	}{
		{"nothing fails", nil, "c b a", true, 0},
		{"one fails twice", map[string]int{"b": 2}, "c b a b b", true, 30 * time.Millisecond},
		{"one fails for ever", map[string]int{"c": 1 << 30}, "c b a c c c c c c c c c c c c c c", false, 4630 * time.Millisecond},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var calls []string
				failed := map[string]int{}
				began := time.Now()
				got := sweepAll([]string{"a", "b", "c"}, func(record string) error {
					calls = append(calls, record)
					if failed[record]++; failed[record] <= test.failures[record] {
						return errors.New("busy")
					}
					return nil
				})
				took := time.Since(began)
				if got != test.want || strings.Join(calls, " ") != test.calls || took != test.took {
					t.Errorf("%v after %v with %q; want %v after %v with %q",
						got, took, calls, test.want, test.took, test.calls)
				}
			})
		})
	}
}

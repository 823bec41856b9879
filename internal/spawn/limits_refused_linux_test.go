package spawn

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/airlock-exec/airlock/internal/helper"
)

func init() { helpers["unhelped"] = helperUnhelped }

// Who may not make control groups, or have more than the hard limit, is told so,
// and what would be possible.
func TestUnenforceable(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs to become somebody else")
	}
	setpriv, err := exec.LookPath("setpriv")
	if err != nil {
		t.Skip(err)
	}
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "airlock-test") //nolint:usetesting // it has to be where others may go
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "test")
	if err := os.WriteFile(program, self, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(program, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/bin/sh", "-c", `ulimit -n 200; ulimit -f 1000; ulimit -t 1000; exec "$@"`, "sh",
		setpriv, "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all", program)
	cmd.Env = append(os.Environ(), helperVariable+"=unhelped", "TMPDIR="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	text := string(out)
	for _, want := range []string{
		"memory 3 a limit on memory can't be enforced: no control group can be made for it (bounding memory: cgroup2: ",
		"Delegate=yes",
		"processes 3 a limit on processes can't be enforced",
		"files 3 a limit of 201 open files can't be enforced: at most 200 are possible, by the hard limit of the executor (200)",
		"files that are possible <nil>",
		"file 3 a limit of 9223372036854775807 bytes in a file can't be enforced: at most 512000 are possible",
		"cpu 3 a limit of 1000 seconds of processor time can't be enforced: at most 999 are possible",
		"cpu that is possible <nil>",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

// helperUnhelped tries what is not possible.
func helperUnhelped() {
	s := open()
	defer s.Close()
	for _, test := range []struct {
		name   string
		limits Limits
	}{
		{"memory", Limits{MemoryBytes: 1 << 30}},
		{"processes", Limits{Processes: 10}},
		{"files", Limits{OpenFiles: 201}},
		{"files that are possible", Limits{OpenFiles: 200}},
		{"file", Limits{FileBytes: 1<<64 - 1}},
		{"cpu", Limits{CPUSeconds: 1000}},
		{"cpu that is possible", Limits{CPUSeconds: 999}},
	} {
		r := newRecord()
		_, err := startFor(s, within(test.limits, "exit 0"), r)
		if e, ok := errors.AsType[*Error](err); ok {
			fmt.Println(test.name, e.Kind, err)
			continue
		}
		fmt.Println(test.name, err)
		<-r.closed
	}
}

// A program without a helper refuses.
func TestLimitsWithoutHelper(t *testing.T) {
	t.Parallel()
	s := newSpawner(t)
	s.system.helper = func() (string, []string, error) { return "", nil, helper.ErrNoHelper }
	_, err := startFor(s, within(Limits{CPUSeconds: 1}, "exit 0"), newRecord())
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Kind != Unenforceable || !errors.Is(err, helper.ErrNoHelper) {
		t.Errorf("error %v", err)
	}
}

// A helper that does not do its work is an error, whatever it does, and nothing
// of it is left.
func TestBadHelper(t *testing.T) {
	t.Parallel()
	eachMeans(t, func(t *testing.T, config Config) {
		s := spawnerFor(t, config)
		for _, test := range []struct {
			path, script, want string
		}{
			{"/nonexistent/helper", "", "executing the helper: No such file or directory (os error 2)"},
			{"/bin/sh", "exit 9", "the helper has ended before it could execute the program, with status 9"},
			{"/bin/sh", "kill -KILL $$", "the helper has ended before it could execute the program, with status 137"},
			{"/bin/sh", "printf nonsense >&4", "the helper has ended before it could execute the program, with status 0"},
			{"/bin/sh", `printf '\002\0\026\0' >&4`, "the helper can't do what is to be done before the program is executed: Invalid argument (os error 22)"},
		} {
			s.system.helper = func() (string, []string, error) { return test.path, []string{"sh", "-c", test.script}, nil }
			_, err := startFor(s, within(Limits{CPUSeconds: 1}, "exit 0"), newRecord())
			if e, ok := errors.AsType[*Error](err); !ok || e.Kind != Failed || err.Error() != test.want {
				t.Errorf("%s: %v, want %s", test.script, err, test.want)
			}
		}
	})
}

// With so little memory that not even a program can be executed, the start says
// so or the program is killed.
func TestLimitsTooSmall(t *testing.T) {
	t.Parallel()
	needGroups(t)
	s := newSpawner(t)
	for _, bytes := range []uint64{1, 4096, 64 << 10, 512 << 10} {
		r := newRecord()
		p, err := startFor(s, within(Limits{MemoryBytes: bytes}, "echo hi"), r)
		if err != nil {
			if e, ok := errors.AsType[*Error](err); !ok || e.Kind != Unenforceable {
				t.Errorf("%d bytes: %v", bytes, err)
			}
			continue
		}
		<-r.closed
		if r.code == 0 != (p.Exceeded() == "") {
			t.Errorf("%d bytes: exit code %d, exceeded %q", bytes, r.code, p.Exceeded())
		}
	}
}

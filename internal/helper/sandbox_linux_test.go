package helper

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/airlock-exec/airlock/internal/helper/plan"
)

// All tests of the sandbox once more, as a user who has no rights.
func TestAsOrdinaryUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("these are the rights of an ordinary user")
	}
	canIsolate(t)
	const nobody = 65534
	dir, err := os.MkdirTemp("", "airlock-test") //nolint:usetesting // that is in a directory that is closed to others
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chown(dir, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), itself, "-test.run=^TestSandbox", "-test.count=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	cmd.Dir, cmd.Env = "/", []string{"TMPDIR=" + dir, "PATH=" + os.Getenv("PATH")}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if ran := regexp.MustCompile("(?m)^(ok|PASS)"); err == nil && !ran.Match(out) {
		t.Errorf("it prints %q", out)
	}
}

// What a program sees of itself.
func TestSandboxRights(t *testing.T) {
	t.Parallel()
	canIsolate(t)
	// Signals 32 and 33 are the C library's own: it has them ignored in what it spawns,
	// so that all below make may have.
	prints(t, readOnly(), `grep -E '^(Cap|NoNewPrivs|TracerPid|SigIgn|SigBlk)' /proc/self/status |
sed -E '/SigIgn/s/[0-3][08]0000000$/000000000/'`, `
TracerPid:	0
SigBlk:	0000000000000000
SigIgn:	0000000000000000
CapInh:	0000000000000000
CapPrm:	0000000000000000
CapEff:	0000000000000000
CapBnd:	0000000000000000
CapAmb:	0000000000000000
NoNewPrivs:	1`)
}

// Nothing but the standard streams comes along.
func TestSandboxDescriptors(t *testing.T) {
	t.Parallel()
	canIsolate(t)
	p := script(readOnly(), `i=0; while [ $i -lt 64 ]; do [ -e /proc/$$/fd/$i ] && echo $i; i=$((i+1)); done; exit 0`)
	if _, out := begin(t, p).end(); out != "0\n1\n2\n" {
		t.Errorf("descriptors %q", out)
	}
	p.Rlimits = []plan.Rlimit{{Resource: unix.RLIMIT_NOFILE, Soft: 100, Hard: 100}}
	p.Writes = []plan.Write{{Path: "/dev/null", Text: "x"}}
	if _, out := begin(t, p).end(); out != "0\n1\n2\n" {
		t.Errorf("descriptors %q, with limits", out)
	}
}

// All mounts are as they should be, and there is no second root below or above.
func TestSandboxMounts(t *testing.T) {
	t.Parallel()
	canIsolate(t)
	dir := t.TempDir()
	c := with(readOnly(), plan.Mount{Kind: plan.BindWritable, Path: dir})
	_, out := begin(t, script(c, "cat /proc/self/mountinfo")).end()
	roots := 0
	for line := range strings.Lines(out) {
		fields := strings.Fields(line)
		place, options := fields[4], ","+fields[5]+","
		if place == "/" {
			roots++
		}
		node := fields[3] != "/" && strings.HasPrefix(place, "/dev/") || place == "/dev" || place == "/dev/pts"
		if !strings.Contains(options, ",nosuid,") || !node && !strings.Contains(options, ",nodev,") {
			t.Errorf("%s", line)
		}
		if strings.Contains(line, "shared:") || strings.Contains(line, "master:") {
			t.Errorf("changes outside come through: %s", line)
		}
		writable := regexp.MustCompile("^(/proc|/dev/(shm|pts|null|zero|full|random|urandom|tty)|" + dir + ")$")
		if strings.Contains(options, ",rw,") && !writable.MatchString(place) {
			// Hidden by the sandbox's own are those of the host, read-only all the same.
			t.Errorf("it can be written: %s", line)
		}
	}
	if roots != 1 {
		t.Errorf("there are %d roots:\n%s", roots, out)
	}
}

// What cannot be written fails with the error that programs expect.
func TestSandboxReadOnly(t *testing.T) {
	t.Parallel()
	canIsolate(t)
	for name, c := range map[string]*plan.Confinement{"base read-only": readOnly(), "base nothing": minimal(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, path := range []string{"/x", "/usr/x", "/dev/x", "/etc/x", "/proc/x"} {
				p := script(c, ": > "+path)
				end, out := begin(t, p).end()
				if !strings.Contains(out, "Read-only file system") && !strings.Contains(out, "Permission denied") && path != "/proc/x" || end.Code == 0 {
					t.Errorf("writing %s: %q, %+v", path, out, end)
				}
			}
			prints(t, c, `echo 1 > /dev/shm/x; cat /dev/shm/x; echo y > /dev/null; head -c 3 /dev/zero | wc -c; ls /dev | tr '\n' ' '`,
				"1\n3\nfd full null ptmx pts random shm stderr stdin stdout tty urandom zero")
		})
	}
}

// Root could write what belongs to the machine without any capability.
func TestSandboxKernelFiles(t *testing.T) {
	t.Parallel()
	canIsolate(t)
	prints(t, readOnly(), `
		cd /proc
		for f in $(find . -maxdepth 1 ! -name . ! -name '[0-9]*' -type f -writable; find sys irq bus fs acpi driver -type f -writable 2>/dev/null); do
			if (: >> $f) 2>/dev/null; then echo $f; fi
		done; echo 7 > self/oom_score_adj && cat self/oom_score_adj >/dev/null; ls -d [0-9]* | head -1`, "1")
}

// The helper can't be looked into, and not be stopped.
func TestSandboxHelperIsClosed(t *testing.T) {
	t.Parallel()
	canIsolate(t)
	prints(t, readOnly(), `
		kill -9 1; kill -STOP 1
		ls -l /proc/1/fd 2>/dev/null | grep -e '->'; cat /proc/1/environ 2>/dev/null; readlink /proc/1/root /proc/1/cwd /proc/1/exe
		cat /proc/1/comm; echo still here`, "airlock-init\nstill here")
}

// What the helper holds once it waits for the end.
func TestSandboxHelperHolds(t *testing.T) {
	t.Parallel()
	canIsolate(t)
	if os.Getuid() != 0 {
		t.Skip("it takes root to look into the helper")
	}
	s := begin(t, script(readOnly(), "echo ready; exec cat /dev/zero | head -c 1000000000000 >/dev/null"))
	s.saw("ready")
	dir := filepath.Join("/proc", strconv.Itoa(s.cmd.Process.Pid), "fd")
	names, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		target, err := os.Readlink(filepath.Join(dir, name.Name()))
		if err == nil && strings.HasPrefix(target, "/") && target != "/dev/null" {
			t.Errorf("descriptor %s is %s", name.Name(), target)
		}
	}
}

// Every part of a plan that can't be carried out is told, with the path.
func TestSandboxRefuses(t *testing.T) {
	t.Parallel()
	canIsolate(t)
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	if err := os.Symlink("/etc", link); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name   string
		change func(p *plan.Plan)
		want   plan.Answer
	}{
		{"a source that has gone", func(p *plan.Plan) {
			with(p.Confine, plan.Mount{Kind: plan.BindWritable, Path: dir + "/gone"})
		}, plan.Answer{Step: plan.Mounting, Errno: unix.ENOENT, Detail: dir + "/gone"}},
		{"a source that has become a link", func(p *plan.Plan) {
			with(p.Confine, plan.Mount{Kind: plan.BindReadOnly, Path: link})
		}, plan.Answer{Step: plan.Mounting, Errno: unix.ELOOP, Detail: link}},
		{"below what has become a link", func(p *plan.Plan) {
			with(p.Confine, plan.Mount{Kind: plan.CoverFile, Path: link + "/passwd"})
		}, plan.Answer{Step: plan.Mounting, Errno: unix.ELOOP, Detail: link + "/passwd"}},
		{"nowhere to cover", func(p *plan.Plan) {
			with(p.Confine, plan.Mount{Kind: plan.CoverDirectory, Path: dir + "/gone"})
		}, plan.Answer{Step: plan.Mounting, Errno: unix.ENOENT, Detail: dir + "/gone"}},
		{"a file over a directory", func(p *plan.Plan) {
			with(p.Confine, plan.Mount{Kind: plan.CoverFile, Path: dir})
		}, plan.Answer{Step: plan.Mounting, Errno: unix.EINVAL, Detail: dir}},
		{"a link among the host's files", func(p *plan.Plan) {
			with(p.Confine, plan.Mount{Kind: plan.Link, Path: dir + "/new", Target: "/"})
		}, plan.Answer{Step: plan.Mounting, Errno: unix.ENOENT, Detail: dir + "/new"}},
		{"the root itself", func(p *plan.Plan) {
			with(p.Confine, plan.Mount{Kind: plan.BindWritable, Path: "/"})
		}, plan.Answer{Step: plan.Mounting, Errno: unix.EINVAL, Detail: "/"}},
		{"a path with dots", func(p *plan.Plan) {
			with(p.Confine, plan.Mount{Kind: plan.BindWritable, Path: dir + "/../.."})
		}, plan.Answer{Step: plan.Mounting, Errno: unix.EINVAL, Detail: dir + "/../.."}},
		{"a directory within that leaves", func(p *plan.Plan) {
			with(p.Confine, plan.Mount{Kind: plan.CoverDirectory, Path: dir, Inner: []string{"../x"}})
		}, plan.Answer{Step: plan.Mounting, Errno: unix.EINVAL, Detail: dir}},
		{
			"no folder", func(p *plan.Plan) { p.Dir = "/gone" },
			plan.Answer{Step: plan.Entering, Errno: unix.ENOENT, Detail: "/gone"},
		},
		{
			"no file to write", func(p *plan.Plan) { p.Writes = []plan.Write{{Path: "/dev/null"}, {Path: "/gone/x"}} },
			plan.Answer{Step: plan.Writing, Index: 1, Errno: unix.ENOENT, Detail: "/gone/x"},
		},
		{
			"a write that fails", func(p *plan.Plan) { p.Writes = []plan.Write{{Path: "/dev/null"}, {Path: "/dev/full"}} },
			plan.Answer{Step: plan.Writing, Index: 1, Errno: unix.ENOSPC, Detail: "/dev/full"},
		},
		{
			"a limit that there is none of", func(p *plan.Plan) { p.Rlimits = []plan.Rlimit{{Resource: 99}} },
			plan.Answer{Step: plan.Limiting, Errno: unix.EINVAL},
		},
		{
			"no filter", func(p *plan.Plan) { p.Confine.Filter = []byte("12345678") },
			plan.Answer{Step: plan.Filtering, Errno: unix.EINVAL},
		},
		{"no filter, with limits", func(p *plan.Plan) {
			p.Confine.Filter = []byte("12345678")
			p.Rlimits = []plan.Rlimit{{Resource: unix.RLIMIT_NOFILE, Soft: 99, Hard: 99}}
		}, plan.Answer{Step: plan.Filtering, Errno: unix.EINVAL}},
		{
			"no program", func(p *plan.Plan) { p.Path = "" },
			plan.Answer{Step: plan.Reading, Errno: unix.EINVAL, Detail: "the plan names no program, or two"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := script(readOnly(), "echo executed")
			test.change(p)
			if got := refused(t, p, true); got != test.want {
				t.Errorf("answer %+v, want %+v", got, test.want)
			}
		})
	}
}

// A helper whose namespaces are not those of the plan does nothing.
func TestSandboxNamespaces(t *testing.T) {
	t.Parallel()
	canIsolate(t)
	for _, test := range []struct {
		name     string
		c        plan.Confinement
		isolated bool
		want     plan.Step
	}{
		{"none", plan.Confinement{Isolated: true, Base: plan.ReadOnly}, false, plan.Isolating},
		{"some that are not asked for", plan.Confinement{}, true, plan.Isolating},
		{"mounts without", plan.Confinement{Mounts: []plan.Mount{{Kind: plan.CoverFile, Path: "/x"}}}, false, plan.Isolating},
		{"a network of its own without", plan.Confinement{Offline: true}, false, plan.Isolating},
		{"sockets in the host's network", plan.Confinement{Isolated: true, Base: plan.ReadOnly, Listen: []uint16{0}}, true, plan.Networking},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := refused(t, script(&test.c, "echo executed"), test.isolated); got.Step != test.want {
				t.Errorf("answer %+v, want the step %v", got, test.want)
			}
		})
	}
	t.Run("the host's network", func(t *testing.T) {
		t.Parallel()
		s := prepareSandbox(t, true, false)
		s.assign(script(readOnly(), "echo executed"))
		if got := s.answer(); got.Step != plan.Networking || got.Errno != unix.EPERM {
			t.Errorf("answer %+v", got)
		}
	})
}

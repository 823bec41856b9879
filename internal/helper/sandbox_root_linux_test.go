package helper

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/airlock-exec/airlock/internal/helper/plan"
)

// workspace makes a folder for a test of mounts.
func workspace(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"src", ".git", "secret", "closed/open/deep"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"src/main", ".git/config", "secret/key", ".env", "closed/other", "closed/open/file"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("src/main", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// What covers, what is shown again below it, and in which order.
func TestSandboxCovers(t *testing.T) {
	t.Parallel()
	canIsolate(t)
	for name, base := range map[string]func() *plan.Confinement{
		"read-only": readOnly, "nothing": func() *plan.Confinement { return minimal(t) },
		"writable": func() *plan.Confinement {
			return &plan.Confinement{Isolated: true, Base: plan.Writable, Offline: true}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := workspace(t)
			c := with(
				base(),
				plan.Mount{Kind: plan.BindWritable, Path: dir},
				plan.Mount{Kind: plan.BindReadOnly, Path: dir + "/.git"},
				plan.Mount{Kind: plan.CoverDirectory, Path: dir + "/closed", Mode: 0o111, Inner: []string{"open"}},
				plan.Mount{Kind: plan.BindWritable, Path: dir + "/closed/open"},
				plan.Mount{Kind: plan.BindReadOnly, Path: dir + "/closed/other"},
				plan.Mount{Kind: plan.CoverDirectory, Path: dir + "/secret"},
				plan.Mount{Kind: plan.CoverFile, Path: dir + "/.env"},
				plan.Mount{Kind: plan.CoverLink, Path: dir + "/link"},
			)
			prints(t, c, "cd "+dir+` || exit 1
				cat src/main .git/config closed/open/file closed/other
				echo new > src/new && cat src/new
				echo new > closed/open/deep/new && cat closed/open/deep/new
				for f in .git/x closed/x closed/other secret/x .env; do (echo no > $f) 2>/dev/null && echo wrote $f; done
				for f in secret/key .env link closed/missing; do cat $f 2>/dev/null && echo read $f; done
				ls closed 2>/dev/null && echo listed; ls secret 2>/dev/null && echo listed
				mv link x 2>/dev/null && echo moved; rm -f link 2>/dev/null && echo removed
				mv .git x 2>/dev/null && echo moved; rmdir secret 2>/dev/null && echo removed; rm -f .env 2>/dev/null && echo removed
				stat -c '%a %n' secret .env closed closed/open`,
				"src/main\n.git/config\nclosed/open/file\nclosed/other\nnew\nnew\n0 secret\n0 .env\n111 closed\n755 closed/open")
			if text, err := os.ReadFile(dir + "/closed/open/deep/new"); err != nil || string(text) != "new\n" {
				t.Errorf("outside: %q, %v", text, err)
			}
		})
	}
}

// From nothing there is what is shown, and the way there.
func TestSandboxNothing(t *testing.T) {
	t.Parallel()
	canIsolate(t)
	dir := workspace(t)
	c := with(minimal(t),
		plan.Mount{Kind: plan.BindWritable, Path: dir + "/src/main"},
		plan.Mount{Kind: plan.Link, Path: dir + "/link", Target: "src/main"})
	prints(t, c, "cd "+dir+` && ls -A . && ls /tmp/.. >/dev/null && cat link && echo more >> link && cat src/main
		touch /x src/x 2>/dev/null && echo wrote; ls / | grep -cx -e home -e root -e work || :`,
		"link\nsrc\nsrc/main\nsrc/main\nmore\n0")
}

// Own /proc and /dev can't be replaced by the host's.
func TestSandboxOwn(t *testing.T) {
	t.Parallel()
	canIsolate(t)
	c := with(readOnly(),
		plan.Mount{Kind: plan.BindReadOnly, Path: "/proc"}, plan.Mount{Kind: plan.BindWritable, Path: "/dev"},
		plan.Mount{Kind: plan.BindReadOnly, Path: fmt.Sprintf("/proc/%d", os.Getpid())})
	prints(t, c, "ls -d /proc/[0-9]* | head -1; ls /dev | grep -c -e full -e kmsg -e mem", "/proc/1\n1")
}

// What has been denied as a whole is not there, and the helper does not need it.
func TestSandboxDeniedOwn(t *testing.T) {
	t.Parallel()
	canIsolate(t)
	c := with(readOnly(), plan.Mount{Kind: plan.CoverDirectory, Path: "/proc"}, plan.Mount{Kind: plan.CoverDirectory, Path: "/dev"})
	prints(t, c, "ls /proc 2>&- || echo denied; (: < /dev/null) 2>&- || echo denied", "denied\ndenied")
}

// A namespace for the network has loopback, and what the daemon listens at.
func TestSandboxListen(t *testing.T) {
	t.Parallel()
	canIsolate(t)
	c := readOnly()
	c.Listen = []uint16{80, 8123}
	s := prepareSandbox(t, true, true)
	s.assign(script(c, `bash -c 'exec 3<>/dev/tcp/127.0.0.1/8123 && cat <&3; exec 3<>/dev/tcp/127.0.0.1/80 && cat <&3'`))
	m, files, err := s.up.receive()
	if m != (plan.Listeners{Count: 2}) || len(files) != 2 {
		t.Fatalf("message %#v with %d descriptors, %v", m, len(files), err)
	}
	for i, fd := range files {
		file := os.NewFile(uintptr(fd), "listener")
		l, err := net.FileListener(file)
		file.Close()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		go func() {
			conn, err := l.Accept()
			if err == nil {
				fmt.Fprintf(conn, "socket %d\n", i)
				conn.Close()
			}
		}()
	}
	if answer := s.answer(); answer.Step != plan.Executing {
		t.Fatalf("answer %+v", answer)
	}
	if end, out := s.end(); out != "socket 1\nsocket 0\n" {
		t.Errorf("%q, %+v", out, end)
	}

	c.Listen = []uint16{80, 80}
	answer := refused(t, script(c, ""), true)
	if answer.Step != plan.Networking || answer.Errno != unix.EADDRINUSE || !strings.Contains(answer.Detail, "127.0.0.1:80") {
		t.Errorf("the same twice: %+v", answer)
	}
}

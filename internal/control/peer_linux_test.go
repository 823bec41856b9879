package control

import (
	"bytes"
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/airlock-exec/airlock/internal/transport"
)

const nobody = 65534

// asNobody runs a function on a thread that has another user, which ends with it.
func asNobody(t *testing.T, f func()) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("takes root")
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		// Of this thread only, which package syscall's are not.
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, nobody, nobody, nobody); errno != 0 {
			t.Error(errno)
			return
		}
		f()
	}()
	<-done
}

// openPath makes a folder that everybody can get to.
func openPath(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for d := dir; d != os.TempDir() && d != "/"; d = filepath.Dir(d) {
		must(t, os.Chmod(d, 0o755))
	}
	return dir
}

// TestOtherUsers: the folder keeps other users out; if it did not, the socket
// would; and if that did not, we do. The same holds for one that they have made.
func TestOtherUsers(t *testing.T) {
	path := filepath.Join(openPath(t), "d", "s")
	_, log, shut := listen(t, path)
	denied := func(what string) {
		t.Helper()
		asNobody(t, func() {
			if _, err := Dial(t.Context(), path); !errors.Is(err, unix.EACCES) || !strings.Contains(err.Error(), "only the user") {
				t.Errorf("%s: %v", what, err)
			}
		})
	}
	denied("all is closed")
	must(t, os.Chmod(filepath.Dir(path), 0o711))
	denied("the folder is open")
	must(t, os.Chmod(path, 0o666))
	asNobody(t, func() {
		// Our own program refuses to talk to another user's.
		if _, err := Dial(t.Context(), path); err == nil || !strings.Contains(err.Error(), "it belongs to user 0, and this is user 65534") {
			t.Errorf("all is open: %v", err)
		}
		// And the executor to another program.
		conn, err := net.Dial("unix", path)
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, _ = conn.Write([]byte("hello\n"))
		var answer bytes.Buffer
		if _, err := answer.ReadFrom(conn); answer.Len() > 0 {
			t.Errorf("all is open: nobody is answered %q, %v", answer.String(), err)
		}
	})
	say(t, dial(t, path), "hello")
	shut()
	if !strings.Contains(log.String(), "not this user") || !strings.Contains(log.String(), "uid=65534") {
		t.Errorf("the log says %q", log)
	}
}

// TestRoot: root has no way into the executor of another user by mistake, nor is
// it refused for want of rights: both ends say no.
func TestRoot(t *testing.T) {
	dir := openPath(t)
	must(t, os.Chmod(dir, 0o777))
	path := filepath.Join(dir, "d", "s")
	var l *Listener
	asNobody(t, func() {
		var err error
		if l, err = Listen(Config{Path: path}); err != nil {
			t.Error(err)
		}
	})
	if l == nil {
		return
	}
	done := make(chan error, 1)
	go func() { done <- l.Serve(echo) }()
	if _, err := Dial(t.Context(), path); err == nil || !strings.Contains(err.Error(), "it belongs to user 65534, and this is user 0") {
		t.Errorf("root dials: %v", err)
	}
	conn, err := net.Dial("unix", path)
	must(t, err)
	defer conn.Close()
	if n, err := conn.Read(make([]byte, 1)); n > 0 || err == nil {
		t.Errorf("root reads %d, %v", n, err)
	}
	l.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestFakeExecutor: a socket that another user has put in our place is not
// talked to, whoever may connect to it.
func TestFakeExecutor(t *testing.T) {
	dir := openPath(t)
	must(t, os.Chmod(dir, 0o777))
	path := filepath.Join(dir, "s")
	var fake net.Listener
	asNobody(t, func() {
		var err error
		if fake, err = net.Listen("unix", path); err != nil {
			t.Error(err)
		}
	})
	if fake == nil {
		return
	}
	defer fake.Close()
	conn, err := Dial(t.Context(), path)
	if err == nil {
		conn.Close(transport.ErrClosed)
		t.Fatal("it is talked to")
	}
}

//go:build unix

package control

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/internal/transport"
)

// listen makes a control socket whose connections echo what they are sent. The
// log is complete when close has returned.
func listen(t *testing.T, path string) (l *Listener, log *bytes.Buffer, shut func()) {
	t.Helper()
	log = &bytes.Buffer{}
	l, err := Listen(Config{Path: path, Logger: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := l.Serve(echo); err != nil {
			t.Error(err)
		}
	})
	shut = func() {
		l.Close()
		serving.Wait()
	}
	t.Cleanup(shut)
	return l, log, shut
}

func echo(conn transport.Conn) {
	for {
		data, err := conn.Read()
		if err != nil {
			return
		}
		if conn.Write([][]byte{data}) != nil {
			return
		}
	}
}

// dial connects to a control socket.
func dial(t *testing.T, path string) transport.Conn {
	t.Helper()
	conn, err := Dial(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(nil) })
	return conn
}

func say(t *testing.T, conn transport.Conn, text string) {
	t.Helper()
	if err := conn.Write([][]byte{[]byte(text)}); err != nil {
		t.Fatal(err)
	}
	if got, err := conn.Read(); err != nil || string(got) != text {
		t.Fatalf("got %q, %v, want %q", got, err, text)
	}
}

func mode(t *testing.T, path string) fs.FileMode {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode()
}

// leaveSocket makes what an executor leaves behind that has been killed.
func leaveSocket(t *testing.T, path string) {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestListen(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "d", "s")
	l, _, shut := listen(t, path)
	if l.Path() != path {
		t.Errorf("the path is %q, want %q", l.Path(), path)
	}
	if got, want := mode(t, path), fs.ModeSocket|0o600; got != want {
		t.Errorf("the socket's mode is %v, want %v", got, want)
	}
	if got, want := mode(t, filepath.Dir(path)), fs.ModeDir|0o700; got != want {
		t.Errorf("the folder's mode is %v, want %v", got, want)
	}
	a, b := dial(t, path), dial(t, path)
	say(t, a, `{"a":1}`)
	say(t, b, strings.Repeat("b", 1_000_000))
	if got := a.Origin(); !strings.Contains(got, "control socket") {
		t.Errorf("the origin is %q", got)
	}

	_, err := Listen(Config{Path: path})
	if !errors.Is(err, errInUse) || !strings.Contains(err.Error(), path) {
		t.Errorf("listening where somebody listens: %v", err)
	}
	say(t, a, "still here")

	shut()
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after the end the socket is still there: %v", err)
	}
	for _, conn := range []transport.Conn{a, b} {
		if _, err := conn.Read(); !errors.Is(err, transport.ErrGoingAway) {
			t.Errorf("after the end a connection reads %v", err)
		}
	}
	if _, err := Dial(t.Context(), path); !errors.Is(err, transport.ErrGoingAway) || !strings.Contains(err.Error(), path) {
		t.Errorf("after the end dialling: %v", err)
	}
	shut() // once more is no fault
}

// TestListenRefuses: what is in a place that others could meddle with, or in the
// way, is an error that says so.
func TestListenRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		prepare func(t *testing.T, dir string) string // returns the path
		want    string
	}{
		{"open to others", func(t *testing.T, dir string) string {
			must(t, os.Mkdir(dir, 0o700), os.Chmod(dir, 0o755))
			return dir + "/s"
		}, "open to others (mode 0755): choose another place with --control-socket. "},
		{"writable by a group", func(t *testing.T, dir string) string {
			must(t, os.Mkdir(dir, 0o700), os.Chmod(dir, 0o720))
			return dir + "/s"
		}, "open to others (mode 0720)"},
		{"sticky", func(t *testing.T, dir string) string {
			must(t, os.Mkdir(dir, 0o700), os.Chmod(dir, 0o777|fs.ModeSticky))
			return dir + "/s"
		}, "/airlock-" + strconv.Itoa(os.Geteuid()) + "/control.sock"},
		{"link to a folder", func(t *testing.T, dir string) string {
			must(t, os.Mkdir(dir+"-real", 0o700), os.Symlink(dir+"-real", dir))
			return dir + "/s"
		}, "is something else, or a symbolic link: choose another place"},
		{"file for a folder", func(t *testing.T, dir string) string {
			must(t, os.WriteFile(dir, nil, 0o600))
			return dir + "/s"
		}, "is something else"},
		{"no parent", func(_ *testing.T, dir string) string { return dir + "/a/s" }, "no such file"},
		{"somebody else's", func(t *testing.T, dir string) string {
			if os.Getuid() != 0 {
				t.Skip("takes root")
			}
			must(t, os.Mkdir(dir, 0o700), os.Chown(dir, 65534, 65534))
			return dir + "/s"
		}, "belongs to user 65534, not to 0: choose another place"},
		{"a file", func(t *testing.T, dir string) string {
			must(t, os.Mkdir(dir, 0o700), os.WriteFile(dir+"/s", nil, 0o600))
			return dir + "/s"
		}, "there is something else: remove it"},
		{"a link", func(t *testing.T, dir string) string {
			must(t, os.Mkdir(dir, 0o700), os.Symlink("nowhere", dir+"/s"))
			return dir + "/s"
		}, "there is something else: remove it"},
		{"too long", func(_ *testing.T, dir string) string { return dir + "/" + strings.Repeat("x", 100) }, "--control-socket"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			path := test.prepare(t, filepath.Join(t.TempDir(), "d"))
			l, err := Listen(Config{Path: path})
			if err == nil {
				l.Close()
			}
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), filepath.Dir(path)) {
				t.Errorf("got %v, want one with %q and the path", err, test.want)
			}
		})
	}
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// TestListenAfterDeath: what a killed executor has left is replaced; what is
// others' stays.
func TestListenAfterDeath(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "d")
	must(t, os.Mkdir(dir, 0o700))
	path := filepath.Join(dir, "s")
	leaveSocket(t, path)
	leaveSocket(t, filepath.Join(dir, "1234.sock"))
	leaveSocket(t, filepath.Join(dir, "1234-2.sock"))
	leaveSocket(t, filepath.Join(dir, "agent.1234.sock"))
	must(t, os.WriteFile(filepath.Join(dir, "77.sock"), nil, 0o600))
	listen(t, path)
	say(t, dial(t, path), "hello")
	var names []string
	entries, err := os.ReadDir(dir)
	must(t, err)
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	if got := strings.Join(names, " "); got != "77.sock agent.1234.sock s" {
		t.Errorf("there are %s", got)
	}
}

// TestListenAtOnce: of many that want the same path one gets it, also in the
// place of one that has died.
func TestListenAtOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "d", "s")
	for range 5 {
		var mu sync.Mutex
		var won []*Listener
		var all sync.WaitGroup
		for range 16 {
			all.Go(func() {
				l, err := Listen(Config{Path: path})
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					won = append(won, l)
				case !errors.Is(err, errInUse):
					t.Error(err)
				}
			})
		}
		all.Wait()
		if len(won) != 1 {
			t.Fatalf("%d have won", len(won))
		}
		conn, err := net.Dial("unix", path) // it is the winner's socket
		must(t, err)
		must(t, conn.Close())
		won[0].Close()
		leaveSocket(t, path)
	}
}

// TestOneProcess: as many executors of one process id as there may be have a socket
// each; one more is refused.
func TestOneProcess(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "c")
	t.Setenv("AIRLOCK_CONTROL_DIR", dir)
	l, _, _ := listen(t, "")
	first := strings.TrimSuffix(l.Path(), ".sock")
	for i := 1; i < limits.ControlNames-1; i++ {
		other, err := net.Listen("unix", first+"-"+strconv.Itoa(i)+".sock")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { other.Close() })
	}
	l, _, _ = listen(t, "")
	if want := first + "-" + strconv.Itoa(limits.ControlNames-1) + ".sock"; l.Path() != want {
		t.Errorf("the last one is at %s, want %s", l.Path(), want)
	}
	if l, err := Listen(Config{}); !errors.Is(err, errInUse) {
		t.Errorf("one more: %v, %v", l, err)
	}
}

// TestCloseKeepsOthers: if the path has been given to another socket meanwhile,
// that stays.
func TestCloseKeepsOthers(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "d", "s")
	first, err := Listen(Config{Path: path})
	must(t, err)
	must(t, os.Remove(path))
	second, _, _ := listen(t, path)
	first.Close()
	say(t, dial(t, second.Path()), "hello")
}

// TestLocked: a folder that somebody keeps locked is an error, not a wait for
// ever; and what is there can still be found.
func TestLocked(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	live, _, _ := listen(t, filepath.Join(dir, "12.sock"))
	folder, err := openFolder(dir, os.Geteuid(), false)
	must(t, err)
	defer folder.Close()
	must(t, lock(folder))
	if _, err := Listen(Config{Path: filepath.Join(dir, "s")}); err == nil || !strings.Contains(err.Error(), "locked") {
		t.Errorf("got %v", err)
	}
	if found, err := findIn(dir, os.Geteuid()); err != nil || len(found) != 1 || found[0] != live.Path() {
		t.Errorf("found %q, %v", found, err)
	}
}

// TestConnections: there are only so many, and the next one is told.
func TestConnections(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "d", "s")
	_, log, shut := listen(t, path)
	var conns []transport.Conn
	for range limits.ControlConnections {
		conn := dial(t, path)
		say(t, conn, "hello")
		conns = append(conns, conn)
	}
	for range 3 {
		_, err := dial(t, path).Read()
		closing, ok := errors.AsType[*ClosingError](err)
		if !ok || closing.Reason != ReasonTooMany || !strings.Contains(err.Error(), "has 64 connections") {
			t.Fatalf("one more reads %v", err)
		}
	}
	say(t, conns[0], "still here")
	conns[1].Close(nil)
	// Its place is free when the executor has noticed.
	for {
		conn := dial(t, path)
		_ = conn.Write([][]byte{[]byte("hello")})
		if _, err := conn.Read(); err == nil {
			break
		}
	}
	shut()
	if !strings.Contains(log.String(), "too many connections") {
		t.Errorf("the log says %q", log)
	}
}

// TestGoodbye: the client learns why the executor has ended the connection, also
// if it is just sending.
func TestGoodbye(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		reason error
		want   error
	}{
		{"taken over", transport.ErrTakenOver, transport.ErrTakenOver},
		{"shut down", transport.ErrGoingAway, transport.ErrGoingAway},
		{"too big", transport.ErrMessageTooBig, transport.ErrMessageTooBig},
		{"violation", transport.ErrViolation, transport.ErrViolation},
		{"no text", transport.ErrInvalidUTF8, transport.ErrViolation},
		{"nothing", nil, transport.ErrClosed},
		{"the client's own", io.EOF, transport.ErrClosed},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			ours, theirs := pair(t)
			var writing sync.WaitGroup
			writing.Go(func() {
				for theirs.Write([][]byte{[]byte("busy")}) == nil {
				}
			})
			if _, err := ours.Read(); err != nil {
				t.Fatal(err)
			}
			ours.Close(test.reason)
			if _, err := theirs.Read(); !errors.Is(err, test.want) {
				t.Errorf("the client reads %v, want %v", err, test.want)
			}
			writing.Wait()
			if err := ours.Write([][]byte{[]byte("more")}); err == nil {
				t.Error("a write after the end succeeds")
			}
		})
	}
}

// pair returns both ends of a connection.
func pair(t *testing.T) (server, client transport.Conn) {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(t.TempDir(), "s"), Net: "unix"})
	must(t, err)
	defer l.Close()
	theirs, err := net.DialUnix("unix", nil, l.Addr().(*net.UnixAddr))
	must(t, err)
	ours, err := l.AcceptUnix()
	must(t, err)
	server, client = newServerConn(ours), newClientConn(theirs)
	t.Cleanup(func() { client.Close(nil); server.Close(nil) })
	return server, client
}

// TestGoodbyeToTheDeaf: a client that reads nothing does not keep its connection
// from being ended.
func TestGoodbyeToTheDeaf(t *testing.T) {
	t.Parallel()
	ours, theirs := pair(t)
	var writing sync.WaitGroup
	writing.Go(func() {
		for ours.Write([][]byte{make([]byte, 1<<20)}) == nil {
		}
	})
	for ours.Progress() == 0 { // so that there is something to be stuck with
		runtime.Gosched()
	}
	ours.Close(transport.ErrGoingAway)
	writing.Wait()
	for {
		if _, err := theirs.Read(); err != nil {
			break // and not before what has been written
		}
	}
}

func FuzzParseClosing(f *testing.F) {
	f.Add([]byte(`{"method":"airlock/connectionClosing","params":{"reason":"goingAway","message":"x"}}`))
	f.Add([]byte(`{"method":"airlock/connectionClosing","params":{}}`))
	f.Add([]byte(`{"method":"airlock/connectionClosing","params":`))
	f.Add([]byte(`{}`))
	f.Fuzz(func(_ *testing.T, data []byte) {
		if closing := parseClosing(data); closing != nil {
			_ = closing.Unwrap()
			_ = closing.Error()
		}
	})
}

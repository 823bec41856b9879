package server

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/airlock-exec/airlock/protocol"
)

// exitOf takes all events of a process and returns its exit.
func (w *wire) exitOf(id string) (exit string) {
	w.Helper()
	for {
		switch m := w.event(id); m.Method {
		case protocol.NotificationProcessExited:
			exit = m.text
		case protocol.NotificationProcessClosed:
			return exit
		}
	}
}

// TestConfinedCommand: a command can do what its sandbox allows, and the wire tells
// what the dialect does, unless a client has asked for more.
func TestConfinedCommand(t *testing.T) {
	t.Parallel()
	s := confinedServer(t)
	path, uri := folder(t)
	other, _ := folder(t)
	w := listen(t, s)().open("")
	sandbox := `,"sandbox":` + policy(uri, readAll, writeHere)
	script := fmt.Sprintf("echo in > %s/in; echo out > %s/out", path, other)

	if got := w.call("process/start", startParams("p", script, sandbox)); !strings.Contains(got.text, `"result":{"processId":"p","sandboxType":"linuxSeccomp"}`) {
		t.Fatal(got.text)
	}
	if got := w.exitOf("p"); !strings.Contains(got, `"exitCode":2,"sandboxDenied":true}}`) && !strings.Contains(got, `"exitCode":1,"sandboxDenied":true}}`) {
		t.Error(got)
	}
	wantContent(t, filepath.Join(path, "in"), "in\n")
	if _, err := os.Stat(filepath.Join(other, "out")); !os.IsNotExist(err) {
		t.Errorf("it has written where it must not: %v", err)
	}
	left, err := os.ReadDir(path)
	if err != nil || len(left) != 1 {
		t.Errorf("left in the folder: %v, %v", left, err)
	}

	start := w.call("process/start", startParams("q", "true", sandbox+`,"airlock":{}`))
	if !strings.Contains(start.text, `"sandboxTier":"`) {
		t.Error(start.text)
	}
	if got := w.exitOf("q"); !strings.Contains(got, `"exitCode":0,"sandboxDenied":false`) {
		t.Error(got)
	}

	// Whoever comes back learns the same.
	again := listen(t, s)()
	if got := again.call("initialize", `{"clientName":"test","resumeSessionId":"`+w.session+`","airlock":{"takeover":true}}`); got.Error != nil {
		t.Fatal(got.text)
	}
	again.send(`{"method":"initialized"}`)
	if got := again.call("process/read", `{"processId":"p","afterSeq":null,"maxBytes":null,"waitMs":null}`); !strings.Contains(got.text, `"sandboxDenied":true}`) {
		t.Error(got.text)
	}
}

// TestConfinedDenials: who asks is told which socket was not to be connected to.
func TestConfinedDenials(t *testing.T) {
	t.Parallel()
	s := confinedServer(t)
	path, uri := folder(t)
	l, err := net.Listen("unix", filepath.Join(path, "socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	w := listen(t, s)().open("")
	script := `exec perl -MSocket -e 'socket(S,AF_UNIX,SOCK_STREAM,0); connect(S,pack_sockaddr_un("` + path + `/socket")) or print "$!\n"'`
	w.start("p", script, `,"airlock":{},"sandbox":`+policy(uri, readAll, writeHere))
	exit := w.exitOf("p")
	if want := fmt.Sprintf(`"denials":[{"what":"connect","path":"%s/socket","count":1}]`, path); !strings.Contains(exit, want) {
		t.Errorf("got %s, want %s", exit, want)
	}
	if got := w.call("process/read", `{"processId":"p","afterSeq":null,"maxBytes":null,"waitMs":null}`); !strings.Contains(got.text, `"denials":[{`) {
		t.Error(got.text)
	}
}

// TestManagedNetwork: a command with a managed network reaches the ports that it is
// given, on the host's loopback, and nothing else.
func TestManagedNetwork(t *testing.T) {
	t.Parallel()
	s := confinedServer(t)
	_, uri := folder(t)
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }))
	defer host.Close()
	hidden := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was reached") }))
	defer hidden.Close()
	port := host.Listener.Addr().(*net.TCPAddr).Port
	w := listen(t, s)().open("")
	get := func(port int) string {
		return fmt.Sprintf(`bash -c 'exec 3<>/dev/tcp/127.0.0.1/%d && printf "GET / HTTP/1.0\r\n\r\n" >&3 && tail -n1 <&3' 2>/dev/null || echo failed; echo; `, port)
	}
	more := fmt.Sprintf(`,"sandbox":%s,"enforceManagedNetwork":true,"managedNetwork":{"loopbackPorts":[%d]}`, policy(uri, readAll), port)
	params := startParams("p", get(port)+get(hidden.Listener.Addr().(*net.TCPAddr).Port), more)
	params = strings.Replace(params, `"env":{`, fmt.Sprintf(`"env":{"HTTP_PROXY":"http://127.0.0.1:%d",`, port), 1)
	if got := w.call("process/start", params); got.Error != nil {
		t.Fatal(got.text)
	}
	if got, code := w.finish("p", 0); got != "hello\nfailed\n\n" || code != 0 {
		t.Errorf("got %q, exit code %d", got, code)
	}
}

// TestConfinedDiscovery: what a sandbox hides is not found, and that is said as
// Codex does.
func TestConfinedDiscovery(t *testing.T) {
	t.Parallel()
	s := confinedServer(t)
	path, uri := folder(t)
	for _, name := range []string{"one", "two"} {
		if err := os.Mkdir(filepath.Join(path, name), 0o755); err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(path, name, "SKILL.md"), "text")
	}
	w := listen(t, s)().open("")
	got := w.call(protocol.MethodDiscoverRoots, fmt.Sprintf(`{"roots":[{"id":"r","path":%q,"sandbox":%s}]}`, uri,
		policy(uri, readAll, entry(uri+"/two/SKILL.md", "deny"))))
	want := `"warnings":["failed to read capability file ` + uri + `/two/SKILL.md: Permission denied (os error 13)"]`
	if !strings.Contains(got.text, "/one/SKILL.md") || !strings.Contains(got.text, want) {
		t.Error(got.text)
	}
}

// TestSandboxTier: a tier that is not known is told before anything is served, and
// then nothing is run without its sandbox.
func TestSandboxTier(t *testing.T) {
	t.Parallel()
	s := newServer(t, Config{SandboxTier: "strong"})
	if err := s.CheckSandbox(); err == nil || !strings.Contains(err.Error(), `there is no sandbox tier "strong": it can be namespaces or landlock`) {
		t.Error(err)
	}
	_, uri := folder(t)
	w := listen(t, s)().open("")
	w.wantRefused("process/start", startParams("p", "true", `,"sandbox":`+policy(uri, readAll)), -32602, "sandbox intent cannot be enforced on this executor")
	if err := newServer(t, Config{}).CheckSandbox(); err != nil {
		t.Error(err)
	}
}

// TestGuarded: what executors keep for themselves is not written by anybody who is
// confined, whatever the policy allows.
func TestGuarded(t *testing.T) {
	path, uri := folder(t)
	if err := os.Mkdir(filepath.Join(path, "airlock"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AIRLOCK_CONTROL_DIR", filepath.Join(path, "airlock"))
	s := confinedServer(t)
	w := listen(t, s)().open("")
	sandbox := `,"sandbox":` + policy(uri, readAll, writeHere)
	w.call("process/start", startParams("p", fmt.Sprintf("cd %s; echo x > in; echo x > airlock/x; mv airlock away; true", path), sandbox))
	if got := w.exitOf("p"); !strings.Contains(got, `"exitCode":0`) {
		t.Error(got)
	}
	wantContent(t, filepath.Join(path, "in"), "x\n")
	if got := w.call("fs/writeFile", `{"path":"`+uri+`/airlock/x","dataBase64":"eA=="`+sandbox+`}`); got.Error == nil {
		t.Error(got.text)
	}
	left, err := os.ReadDir(filepath.Join(path, "airlock"))
	if err != nil || len(left) != 0 {
		t.Errorf("left in the folder: %v, %v", left, err)
	}
}

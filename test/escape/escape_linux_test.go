package escape

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/airlock-exec/airlock/client"
	"github.com/airlock-exec/airlock/protocol"
)

// TestEscape makes all attempts under every policy, as every user there is.
func TestEscape(t *testing.T) {
	for _, u := range users() {
		for _, p := range []policy{readOnly, workspaceWrite, restrictedRead, networkOpen, managed, landlocked, landlockOpen} {
			t.Run(u.name+"/"+string(p), func(t *testing.T) {
				isLandlock := p == landlocked || p == landlockOpen
				if isLandlock && !hasLandlock() {
					t.Skip("the kernel's Landlock is too old")
				}
				h := newHost(t, u, p)
				before := h.state(t)
				var flags []string
				if isLandlock {
					flags = []string{"--sandbox-tier=landlock"}
				}
				e := serve(t, u, h.home, flags...)
				for _, tty := range []bool{false, true} {
					out, exit := run(t, e, h.start(t, fmt.Sprint("attempts", tty), tty))
					h.judge(t, out, exit)
				}
				h.isUntouched(t, before)
			})
		}
	}
}

// host is what is around the sandbox.
type host struct {
	scene
	home      string
	victim    *exec.Cmd
	listeners []net.Listener
	datagrams net.PacketConn
}

// newHost makes a host that can be attacked.
func newHost(t *testing.T, u user, p policy) *host {
	t.Helper()
	base, err := os.MkdirTemp(filepath.Dir(program), "scene-") //nolint:usetesting // policies let programs write in /tmp
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	h := &host{scene: scene{Policy: p, Base: base, UID: u.id}, home: filepath.Join(base, "home")}
	h.Abstract = "@" + base
	for _, dir := range []string{"home", "ws/.git", "ws/.agents", "ws/dir", "outside/closed"} {
		if err := os.MkdirAll(h.at(dir), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{
		"ws/.git/config", "ws/file", "ws/.env", "ws/dir/.env", "outside/target", "outside/secret", "outside/closed/file",
	} {
		if err := os.WriteFile(h.at(name), []byte(name), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{
		"ws/link": "../outside/target", "ws/secret-link": h.at("outside/secret"), "ws/socket-link": h.at("outside/socket"),
	} {
		if err := os.Symlink(to, h.at(link)); err != nil {
			t.Fatal(err)
		}
	}
	copyProgram(t, h.at("ws/program"))
	copyProgram(t, h.at("outside/suid"))
	copyProgram(t, h.at("ws/suid"))
	h.listen(t)
	h.own(t, u)
	h.startVictim(t, u)
	return h
}

// listen listens on sockets that nobody may reach.
func (h *host) listen(t *testing.T) {
	t.Helper()
	for _, name := range []string{h.at("outside/socket"), h.at("ws/socket"), h.Abstract} {
		l, err := net.Listen("unix", name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		h.listeners = append(h.listeners, l)
	}
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tcp.Close() })
	h.listeners = append(h.listeners, tcp)
	h.Port = tcp.Addr().(*net.TCPAddr).Port
	h.datagrams, err = net.ListenPacket("unixgram", h.at("outside/datagram"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.datagrams.Close() })
}

// own gives everything to the user, but for what only root could have made.
func (h *host) own(t *testing.T, u user) {
	t.Helper()
	err := filepath.WalkDir(h.Base, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.Type()&os.ModeSymlink != 0 {
			return err
		}
		if filepath.Base(path) == "suid" {
			return os.Chmod(path, 0o755|os.ModeSetuid)
		}
		if err := os.Chown(path, u.id, u.id); err != nil && os.Getuid() == 0 {
			return err
		}
		switch {
		case entry.IsDir(), filepath.Base(path) == "program":
			return os.Chmod(path, 0o755) //nolint:gosec // what holds it back has to be the sandbox
		default:
			return os.Chmod(path, 0o666) //nolint:gosec // the same
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

// startVictim starts a process of the same user that waits.
func (h *host) startVictim(t *testing.T, u user) {
	t.Helper()
	h.victim = exec.Command("cat")
	h.victim.Args[0] = marker
	h.victim.Env = []string{"SECRET=" + marker}
	h.victim.Dir = "/"
	h.victim.SysProcAttr = u.attributes()
	in, err := h.victim.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := h.victim.Start(); err != nil {
		t.Fatal(err)
	}
	h.Victim = h.victim.Process.Pid
	t.Cleanup(func() {
		_ = in.Close()
		if err := h.victim.Wait(); err != nil {
			t.Errorf("the process outside has ended: %v", err)
		}
	})
}

func copyProgram(t *testing.T, to string) {
	t.Helper()
	from, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	file, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(file, from); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}

// start is the start of the hostile program.
func (h *host) start(t *testing.T, id string, tty bool, args ...string) *protocol.StartParams {
	t.Helper()
	text, err := json.Marshal(h.scene)
	if err != nil {
		t.Fatal(err)
	}
	params := &protocol.StartParams{
		ProcessID: id, CWD: uri(t, h.at("ws")), TTY: tty,
		Argv: append([]string{h.at("ws/program")}, args...),
		Env: map[string]string{
			"PATH": os.Getenv("PATH"), sceneVariable: string(text),
			"GODEBUG": "containermaxprocs=0", // the runtime keeps files open for that
		},
		Sandbox: h.sandbox(t),
	}
	if h.Policy == managed {
		params.EnforceManagedNetwork = true
		free, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = free.Close() })
		port := free.Addr().(*net.TCPAddr).Port
		params.ManagedNetwork = &protocol.ManagedNetwork{LoopbackPorts: []uint16{uint16(port)}}
		params.Env["HTTP_PROXY"] = "http://127.0.0.1:" + strconv.Itoa(port)
	}
	return params
}

func uri(t *testing.T, path string) protocol.PathURI {
	t.Helper()
	u, err := protocol.PathURIFromNative(path)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func (h *host) sandbox(t *testing.T) *protocol.SandboxContext {
	t.Helper()
	var s *protocol.SandboxContext
	ws := uri(t, h.at("ws"))
	switch h.Policy {
	case readOnly, landlocked:
		return protocol.ReadOnlySandbox(protocol.NetworkRestricted)
	case landlockOpen:
		return protocol.ReadOnlySandbox(protocol.NetworkEnabled)
	case workspaceWrite, managed:
		s = protocol.WorkspaceWriteSandbox(protocol.NetworkRestricted, ws)
	case networkOpen:
		s = protocol.WorkspaceWriteSandbox(protocol.NetworkEnabled, ws)
	case restrictedRead:
		s = protocol.RestrictedSandbox(protocol.NetworkRestricted,
			protocol.SpecialEntry(protocol.SpecialMinimal, protocol.AccessRead),
			protocol.SpecialEntry(protocol.SpecialProjectRoots, protocol.AccessWrite))
		s.WorkspaceRoots = []protocol.PathURI{ws}
	}
	entries := &s.Permissions.FileSystem.Entries
	*entries = append(*entries,
		protocol.PathEntry(uri(t, h.at("outside/secret")), protocol.AccessDeny),
		protocol.PathEntry(uri(t, h.at("outside/closed")), protocol.AccessDeny),
		protocol.GlobEntry(h.at("ws")+"/**/.env", protocol.AccessDeny))
	return s
}

// judge compares what became of the attempts with what has to.
func (h *host) judge(t *testing.T, out string, exit client.Event) {
	t.Helper()
	if exit.SetupError != nil || exit.ExitCode != 0 {
		t.Fatalf("exit code %d, %+v\n%s", exit.ExitCode, exit.SetupError, out)
	}
	outcomes := map[string]string{}
	for line := range strings.Lines(out) {
		name, what, _ := strings.Cut(strings.TrimRight(line, "\r\n"), "\t")
		outcomes[name] = what
	}
	told := map[string]bool{}
	for _, d := range exit.Denials {
		told[d.What+" "+d.Path+d.Address] = true
	}
	tells := []string{"io_uring_setup ", "mount ", "keyctl "}
	if h.Policy == networkOpen || h.Policy == landlockOpen {
		tells = append(tells, "socket AF_VSOCK")
	}
	if h.Policy != managed {
		tells = append(tells, "connect "+h.at("outside/socket"), "connect "+h.Abstract)
	}
	for _, what := range tells {
		if !told[what] {
			t.Errorf("%q is not told; told are %v", what, exit.Denials)
		}
	}
	for _, list := range [][]attempt{inherited, writes, reads, processes, sockets, kernel} {
		for _, a := range list {
			want := a.wanted(h.Policy)
			if want == "" {
				continue
			}
			what, ok := outcomes[a.name]
			// A text with spaces is one outcome, or several errors of which one has to be.
			if !ok || what != want && !slices.Contains(strings.Fields(want), what) {
				t.Errorf("%s: %q, want %q", a.name, what, want)
			}
		}
	}
}

// state is what the host looks like.
func (h *host) state(t *testing.T) map[string]string {
	t.Helper()
	state := map[string]string{}
	err := filepath.WalkDir(h.Base, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		text := fmt.Sprint(info.Mode())
		if info.Mode().IsRegular() && info.Size() < 1000 {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text += string(b)
		}
		name := strings.TrimPrefix(path, h.Base)
		// What the program does with what is its own is its own business.
		if !strings.HasPrefix(name, "/home") && !strings.HasPrefix(name, "/ws/swap") {
			state[name] = text
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// isUntouched checks that the host is as it was before, and that nobody has
// reached it.
func (h *host) isUntouched(t *testing.T, before map[string]string) {
	t.Helper()
	if diff := cmp.Diff(before, h.state(t)); diff != "" {
		t.Errorf("files are changed (- before, + after):\n%s", diff)
	}
	for i, l := range h.listeners {
		_ = l.(interface{ SetDeadline(time.Time) error }).SetDeadline(time.Now())
		if c, err := l.Accept(); err == nil {
			_ = c.Close()
			t.Errorf("somebody has connected to listener %d", i)
		}
	}
	_ = h.datagrams.SetDeadline(time.Now())
	if _, _, err := h.datagrams.ReadFrom(make([]byte, 1)); err == nil {
		t.Error("somebody has sent a datagram")
	}
	if err := h.victim.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("the process outside: %v", err)
	}
}

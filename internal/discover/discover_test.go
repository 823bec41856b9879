package discover

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/airlock-exec/airlock/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// host is what the tests lay out for a Discoverer: a user's home with a Codex home
// in it, and a folder of the administrator's.
type host struct {
	t    *testing.T
	root string
}

// newHost writes files by their paths from the root. HOST in them stands for the
// root.
func newHost(t *testing.T, files map[string]string) *host {
	t.Helper()
	h := &host{t: t, root: canonical(t.TempDir())}
	for name, text := range files {
		h.write(name, strings.ReplaceAll(text, "HOST", filepath.ToSlash(h.root)))
	}
	return h
}

func (h *host) path(name string) string { return filepath.Join(h.root, filepath.FromSlash(name)) }

func (h *host) uri(name string) protocol.PathURI { return uri(h.path(name)) }

func (h *host) write(name, text string) {
	h.t.Helper()
	path := h.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		h.t.Fatal(err)
	}
}

// link makes a symbolic link.
func (h *host) link(target, name string) {
	h.t.Helper()
	if err := os.MkdirAll(filepath.Dir(h.path(name)), 0o755); err != nil {
		h.t.Fatal(err)
	}
	if err := os.Symlink(h.path(target), h.path(name)); err != nil {
		h.t.Skip(err) // not everybody may on Windows
	}
}

func (h *host) discoverer() *Discoverer { return New(h.config()) }

func (h *host) config() Config {
	return Config{CodexHome: h.path("home/.codex"), UserHome: h.path("home"), SystemDir: h.path("etc")}
}

// short makes URIs and paths of the host short, to compare them.
func (h *host) short(text string) string {
	return strings.NewReplacer(h.uri("").String(), "@", h.root, "@", `\`, "/").Replace(text)
}

// wireError asserts that an error is one of the protocol, with a code and a text.
func wireError(t *testing.T, err error, code protocol.Code, text string) {
	t.Helper()
	wire, ok := err.(*protocol.Error)
	if !ok || wire.Code != code || !strings.Contains(wire.Message, text) {
		t.Errorf("got error %v, want %d with %q", err, code, text)
	}
}

// TestDefaults asserts where things are looked for if nothing else is said.
func TestDefaults(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	t.Setenv("CODEX_HOME", "")
	if got, want := New(Config{}).config.CodexHome, filepath.Join(home, ".codex"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	t.Setenv("CODEX_HOME", "/elsewhere")
	if got := New(Config{}).config.CodexHome; got != "/elsewhere" {
		t.Errorf("%s, want what the variable says", got)
	}
}

//go:build unix

package discover

import (
	"errors"
	"os"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/airlock-exec/airlock/internal/files/regular"
	"github.com/airlock-exec/airlock/protocol"
)

const noSuchFile = "No such file or directory (os error 2)"

func (h *host) fifo(name string) {
	h.t.Helper()
	if err := os.MkdirAll(h.path(name+"/.."), 0o755); err != nil {
		h.t.Fatal(err)
	}
	if err := syscall.Mkfifo(h.path(name), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

// TestPipes asserts that a pipe that nobody writes to holds nothing up, wherever it
// stands.
func TestPipes(t *testing.T) {
	t.Parallel()
	h := newHost(t, map[string]string{"r/s/SKILL.md": "s", "home/.codex/skills/s/SKILL.md": "---\ndescription: d\n---"})
	for _, name := range []string{
		"r/.codex-plugin/plugin.json", "r/t/SKILL.md", "r/s/agents/openai.yaml", "home/.codex/config.toml",
		"home/.codex/plugins/cache/m/p/.codex-remote-plugin-install.json", "w/.git",
		"home/.codex/plugins/cache/m/p/1.0.0", "home/.codex/plugins/cache/m/q", "home/.codex/plugins/cache/n",
		"home/.agents/skills", "system/skills",
	} {
		h.fifo(name)
	}
	if diff := cmp.Diff([]string{"skill @/r/s/SKILL.md: s"}, h.outline(&h.find("r")[0])); diff != "" {
		t.Error(diff)
	}
	_, err := h.read("w", [][]string{{"model"}}, nil)
	wireError(t, err, protocol.CodeInternal, "is not a file")
	if found := h.installed(); len(found.Skills) != 1 {
		t.Errorf("%+v", found)
	}
}

// TestPipeInPlaceOfPlugins has one where the folders of plugins begin.
func TestPipeInPlaceOfPlugins(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"home/.codex/plugins", "home/.codex/plugins/cache", "home/.codex/skills", "home/.codex"} {
		h := newHost(t, nil)
		h.fifo(name)
		if found := h.installed(); len(found.Plugins)+len(found.Skills) > 0 {
			t.Errorf("%s: %+v", name, found)
		}
	}
}

// TestKernelLog has links to a regular file whose readers wait for the kernel.
func TestKernelLog(t *testing.T) {
	t.Parallel()
	const path = "/proc/kmsg"
	f, err := regular.Open(path)
	if err != nil {
		t.Skip(err)
	}
	f.Close()
	h := newHost(t, map[string]string{"r/s/SKILL.md": "s", "r/s/agents/x": "", "home/.codex/x": ""})
	for _, name := range []string{"r/s/agents/openai.yaml", "home/.codex/config.toml"} {
		if err := os.Symlink(path, h.path(name)); err != nil {
			t.Fatal(err)
		}
	}
	if found := h.find("r")[0]; len(found.Skills) != 1 || len(found.Warnings) > 1 {
		t.Errorf("%+v", found)
	}
	if _, err := h.read("r", [][]string{{"model"}}, nil); err == nil {
		t.Error("the kernel's log is a configuration")
	}
}

func TestReadFile(t *testing.T) {
	t.Parallel()
	h := newHost(t, map[string]string{"f": "12345", "d/x": ""})
	for _, test := range []struct {
		path  string
		limit int
		want  error
	}{
		{h.path("f"), 5, nil},
		{h.path("f"), 4, regular.ErrTooLarge},
		{h.path("d"), 5, regular.ErrNotRegular},
		{"/dev/zero", 5, regular.ErrNotRegular},
		{h.path("none"), 5, os.ErrNotExist},
		{h.path("f/x"), 5, syscall.ENOTDIR},
	} {
		if _, err := readFile(test.path, test.limit); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", test.path, err, test.want)
		}
	}
}

// TestReadFileWithoutSize asserts that a file that does not say how long it is is
// not read farther than allowed.
func TestReadFileWithoutSize(t *testing.T) {
	t.Parallel()
	const path = "/proc/self/status"
	if _, err := os.Stat(path); err != nil {
		t.Skip(err)
	}
	if _, err := readFile(path, 10); !errors.Is(err, regular.ErrTooLarge) {
		t.Error(err)
	}
}

// TestInspect asserts that what the system says of a file is told.
func TestInspect(t *testing.T) {
	t.Parallel()
	h := newHost(t, map[string]string{"r/s/SKILL.md": "s", "r/s/agents": ""})
	if err := os.Mkdir(h.path("r/.codex-plugin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("plugin.json", h.path("r/.codex-plugin/plugin.json")); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"skill @/r/s/SKILL.md: s",
		"warning: failed to inspect capability file @/r/.codex-plugin/plugin.json: Symbolic link loop (os error 40)",
		"warning: failed to inspect capability file @/r/s/agents/openai.yaml: Not a directory (os error 20)",
	}
	if diff := cmp.Diff(want, h.outline(&h.find("r")[0])); diff != "" {
		t.Error(diff)
	}
}

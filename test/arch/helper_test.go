package arch

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// helperLinks is every package of ours and of other modules in the helper, with
// the reason why it is there. The helper is executed in the way of commands, and
// stays in memory as the warden: what it links is paid for each time.
var helperLinks = map[string]string{
	modulePath + "/cmd/airlock-helper":     "is its main function",
	modulePath + "/internal/helper":        "is what it does",
	modulePath + "/internal/helper/ledger": "is what the warden is told",
	modulePath + "/internal/helper/plan":   "is what is to be done before a program is executed",
	modulePath + "/internal/spawn/point":   "removes mount points that are on the warden's ledger",
	modulePath + "/internal/limits":        "has the bounds of what the warden removes",
	modulePath + "/internal/spawn/tree":    "kills and removes what is on the warden's ledger",
	"golang.org/x/sys/unix":                "system calls that package syscall lacks",
}

// helperStandard is every package of the standard library in the helper, without
// those that only the library itself can import.
var helperStandard = strings.Fields(`
	bytes cmp context encoding/binary encoding/hex errors fmt io io/fs iter maps math math/bits os os/signal
	path path/filepath reflect runtime runtime/debug slices sort strconv strings sync sync/atomic
	syscall time unicode unicode/utf8 unsafe`)

// helperSize bounds the helper's binary, which every airlock carries.
const helperSize = 2_500_000

// TestHelperLinks asserts that the helper links what is on the lists, and
// nothing else.
func TestHelperLinks(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	for _, pkg := range goList(t, "./cmd/airlock-helper", "linux", "{{if not .Standard}}{{.ImportPath}}{{end}}") {
		found[pkg] = true
		if helperLinks[pkg] == "" {
			t.Errorf("the helper links %s, which is not on the list: do without it, or add it to helperLinks "+
				"(test/arch/helper_test.go) with the reason", pkg)
		}
	}
	for _, pkg := range goList(t, "./cmd/airlock-helper", "linux", "{{if .Standard}}{{.ImportPath}}{{end}}") {
		if slices.Contains(strings.Split(pkg, "/"), "internal") {
			continue
		}
		found[pkg] = true
		if !slices.Contains(helperStandard, pkg) {
			t.Errorf("the helper links %s, which is not on the list: do without it, or add it to helperStandard "+
				"(test/arch/helper_test.go) if it is a small one", pkg)
		}
	}
	for _, pkg := range slices.Concat(slices.Sorted(maps.Keys(helperLinks)), helperStandard) {
		if !found[pkg] {
			t.Errorf("the helper does not link %s any more: take it off its list (test/arch/helper_test.go)", pkg)
		}
	}
}

// build builds a program as a release is built, and returns its file.
func build(t *testing.T, program string, flags ...string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), filepath.Base(program))
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	args := slices.Concat([]string{"build", "-trimpath", "-ldflags=-s -w", "-o", name}, flags, []string{program})
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building %s: %v\n%s", program, err, out)
	}
	return name
}

// embedHelper returns the flags that embed a helper without putting it among the
// sources.
func embedHelper(t *testing.T, helper string) []string {
	t.Helper()
	place, err := filepath.Abs(filepath.Join(root, "internal", "helper", "embedded", "airlock-helper"))
	if err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{place: helper}})
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "overlay.json")
	if err := os.WriteFile(name, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"-tags=embedhelper", "-overlay=" + name}
}

// checkHelper asserts that the helper is small, and that the binary holds it and
// does its work besides.
func checkHelper(t *testing.T, binary, helper string) {
	if runtime.GOOS != "linux" {
		t.Skip("only on Linux is there a helper")
	}
	part, err := os.ReadFile(helper)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the helper has %d bytes", len(part))
	if len(part) > helperSize {
		t.Errorf("the helper has %d bytes, the bound is %d", len(part), helperSize)
	}
	whole, err := os.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	executes := slices.Contains(goList(t, "./cmd/airlock", "linux", "{{.ImportPath}}"), modulePath+"/internal/spawn/warden")
	if embeds := bytes.Contains(whole, part); embeds != executes {
		// The linker leaves out what nobody executes.
		t.Errorf("the helper is in the binary: %v, want %v", embeds, executes)
	}
	for _, file := range []string{helper, binary} {
		cmd := exec.CommandContext(t.Context(), file)
		cmd.Args = []string{"airlock-helper", "warden"}
		out, err := cmd.CombinedOutput()
		if want := "airlock-helper: warden needs a pipe"; !strings.HasPrefix(string(out), want) {
			t.Errorf("%s executed as the helper says %q (%v), want %q…", filepath.Base(file), out, err, want)
		}
	}
}

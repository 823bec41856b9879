package arch

import (
	"bytes"
	"debug/buildinfo"
	"errors"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// linked is every module in the binary, on any system, with the reason why it
// is there. A module costs size, start-up time and trust: a new one needs a
// reason that the standard library, or a little code of our own, can't meet.
var linked = map[string]string{
	"github.com/alecthomas/kong":             "parses the command line into structs",
	"github.com/bmatcuk/doublestar/v4":       "matches globs with `**`",
	"github.com/coder/websocket":             "WebSocket frames and handshake; no dependencies of its own",
	"github.com/creack/pty":                  "opens pseudo-terminals on Unix systems other than Linux",
	"github.com/fsnotify/fsnotify":           "tells of changed files on systems other than Linux",
	"github.com/go-json-experiment/json":     "decodes JSON case-sensitively and refuses duplicate names and bad UTF-8",
	"github.com/golang-jwt/jwt/v5":           "checks signed bearer tokens",
	"github.com/pelletier/go-toml/v2":        "reads the configuration file and refuses unknown keys, with line numbers",
	"github.com/segmentio/asm":               "base64 in vector instructions: ten times as fast, and all output passes through it",
	"golang.org/x/sys":                       "system calls that package syscall lacks",
	"golang.org/x/term":                      "puts the user's terminal into raw mode for `airlock run -t`",
	"github.com/klauspost/compress":          "decodes zstd, which answers to HTTP requests may be in; the standard library does not",
	"golang.org/x/crypto/x509roots/fallback": "Mozilla's certificate authorities, for machines that have none",
	"golang.org/x/net":                       "brings international names into ASCII, and says which proxy the environment wants for a URL",
	"golang.org/x/text":                      "the tables for that",
}

// systems are those that the binary is built for.
var systems = []string{"linux", "darwin", "windows"}

// goList runs go list for a binary, and all that it links, on a system.
func goList(t *testing.T, binary, system, format string) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", format, binary)
	cmd.Dir = root
	// With cgo, so that packages that would use it show.
	cmd.Env = append(os.Environ(), "GOOS="+system, "CGO_ENABLED=1")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s for %s: %v\n%s", cmd, system, err, stderr(err))
	}
	return strings.Fields(string(out))
}

func stderr(err error) []byte {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.Stderr
	}
	return nil
}

// TestLinkedModules asserts that the binary holds the modules in the list, and
// no others.
func TestLinkedModules(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	for _, system := range systems {
		for _, module := range goList(t, "./cmd/airlock", system, "{{with .Module}}{{.Path}}{{end}}") {
			if module == modulePath {
				continue
			}
			if linked[module] == "" && !found[module] {
				t.Errorf("on %s the binary links %s, which is not on the list: do without it, or add it to "+
					"linked (test/arch/linked_test.go) with the reason. `go mod why -m %s` tells who wants it",
					system, module, module)
			}
			found[module] = true
		}
	}
	for _, module := range slices.Sorted(maps.Keys(linked)) {
		if !found[module] {
			t.Errorf("the binary does not link %s any more: take it off the list (test/arch/linked_test.go)", module)
		}
	}
}

// TestNoCgo asserts that the binary needs no C compiler and no C library. Cgo
// in the standard library is optional and off in our builds.
func TestNoCgo(t *testing.T) {
	t.Parallel()
	for _, system := range systems {
		for _, pkg := range goList(t, "./cmd/airlock", system, "{{if and .CgoFiles (not .Standard)}}{{.ImportPath}}{{end}}") {
			t.Errorf("on %s the binary links %s, which uses cgo: the binary must stay static", system, pkg)
		}
	}
}

// TestBinary builds the binary as a release is built, and looks at it.
func TestBinary(t *testing.T) {
	t.Parallel()
	helper := build(t, "./cmd/airlock-helper")
	name := build(t, "./cmd/airlock", embedHelper(t, helper)...)
	t.Run("modules", func(t *testing.T) { checkModules(t, name) })
	t.Run("helper", func(t *testing.T) { checkHelper(t, name, helper) })
	t.Run("init", func(t *testing.T) { checkInit(t, name) })
}

// checkModules asserts that the binary is static, and that what it says of its
// modules is what go list says.
func checkModules(t *testing.T, binary string) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	for _, setting := range info.Settings {
		if setting.Key == "CGO_ENABLED" && setting.Value != "0" {
			t.Errorf("the binary was built with CGO_ENABLED=%s", setting.Value)
		}
	}
	for _, module := range info.Deps {
		if linked[module.Path] == "" {
			t.Errorf("the binary says that it holds %s, which is not on the list (test/arch/linked_test.go)", module.Path)
		}
	}
}

// work is what an init function did.
type work struct{ bytes, allocs int }

// Every linked package initialises before main, whatever the command line says.
// Time is too noisy to assert; allocations are the same in every run and grow
// with the work. With what is linked today the largest package is unicode, with
// 11 KiB in 16 pieces, and the most pieces are kong's, 54; all together are 63
// KiB in 450 pieces.
var (
	initEach  = work{bytes: 12 << 10, allocs: 80}
	initTotal = work{bytes: 96 << 10, allocs: 700}
)

// initLine is what GODEBUG=inittrace=1 prints for a package.
var initLine = regexp.MustCompile(`^init (\S+) @\S+ ms, \S+ ms clock, (\d+) bytes,? (\d+) allocs$`)

// checkInit bounds what happens before main.
func checkInit(t *testing.T, binary string) {
	cmd := exec.CommandContext(t.Context(), binary, "version")
	cmd.Env = []string{"GODEBUG=inittrace=1"}
	if runtime.GOOS == "windows" {
		cmd.Env = append(cmd.Env, "SYSTEMROOT="+os.Getenv("SYSTEMROOT"))
	}
	var trace bytes.Buffer
	cmd.Stderr = &trace
	if err := cmd.Run(); err != nil {
		t.Fatalf("airlock version: %v\n%s", err, trace.String())
	}

	var total work
	packages := 0
	for line := range strings.Lines(trace.String()) {
		m := initLine.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue
		}
		packages++
		var did work
		did.bytes, _ = strconv.Atoi(m[2])
		did.allocs, _ = strconv.Atoi(m[3])
		total.bytes += did.bytes
		total.allocs += did.allocs
		if did.bytes > initEach.bytes || did.allocs > initEach.allocs {
			t.Errorf("package %s allocates %d bytes in %d pieces before main; the bound is %d in %d. "+
				"Do the work when it is first needed (sync.OnceValue), or do without the package",
				m[1], did.bytes, did.allocs, initEach.bytes, initEach.allocs)
		}
	}
	if packages == 0 {
		t.Fatalf("GODEBUG=inittrace=1 printed nothing that this test can read:\n%s", trace.String())
	}
	t.Logf("%d packages allocate %d bytes in %d pieces before main", packages, total.bytes, total.allocs)
	if total.bytes > initTotal.bytes || total.allocs > initTotal.allocs {
		t.Errorf("all packages together allocate %d bytes in %d pieces before main; the bound is %d in %d. "+
			"What is new? Compare the lines of GODEBUG=inittrace=1 with those of an older binary:\n%s",
			total.bytes, total.allocs, initTotal.bytes, initTotal.allocs, trace.String())
	}
}

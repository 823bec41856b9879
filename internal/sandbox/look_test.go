package sandbox

import (
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/airlock-exec/airlock/internal/limits"
)

// slow is a host of which each look takes a while.
type slow struct {
	*memory
	takes time.Duration
	looks map[string]int
}

func (s *slow) Lstat(path string) (fs.FileInfo, error) {
	time.Sleep(s.takes)
	s.looks[path]++
	return s.memory.Lstat(path)
}

func (s *slow) ReadDir(path string, each func(fs.DirEntry) error) error {
	return s.memory.ReadDir(path, func(e fs.DirEntry) error {
		time.Sleep(s.takes)
		return each(e)
	})
}

// TestResolveEnds: whatever there is on the host, and however slow that is, there is an
// answer in the end, and it is an error if not all has been looked at.
func TestResolveEnds(t *testing.T) {
	t.Parallel()
	var names []string
	for i := range 1000 {
		names = append(names, fmt.Sprintf("/ws/d%d/f", i))
	}
	for name, entries := range map[string][]string{
		"a tree":  {"read root", "write project", "deny **/.env"},
		"entries": {"read root"},
	} {
		if name == "entries" {
			for i := range 1000 {
				entries = append(entries, fmt.Sprintf("deny /ws/d%d/f", i))
			}
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := asked(t, entries...)
			for takes, late := range map[time.Duration]bool{time.Millisecond: false, 20 * time.Millisecond: true} {
				host := &slow{newMemory(names...), takes, map[string]int{}}
				synctest.Test(t, func(t *testing.T) {
					begin := time.Now()
					_, err := Resolve(Request{Context: c, Dir: "/ws"}, host)
					if late != (err != nil) || late && !strings.Contains(err.Error(), errLate.Error()) {
						t.Errorf("%v: %v", takes, err)
					}
					if took := time.Since(begin); took > limits.SandboxResolveTime+time.Second {
						t.Errorf("it took %v", took)
					}
				})
				for path, n := range host.looks {
					if n > 1 {
						t.Errorf("%s has been looked at %d times", path, n)
					}
				}
			}
		})
	}
}

// TestPatternsTakeNoTime: no pattern that is short enough takes long to be understood.
func TestPatternsTakeNoTime(t *testing.T) {
	t.Parallel()
	for _, part := range []string{"{[", "{", "[", "[!", "[z-a", "{[z-a", `{\[`, "{a,", "[a-z]", "**/", "{**/,", "*", `\`, "[]", "{[]"} {
		for _, end := range []string{"", "]", "}", "]}", "*"} {
			pattern := "/w/" + strings.Repeat(part, (limits.SandboxGlobBytes-8)/len(part)) + end
			begin := time.Now()
			if _, err := newMatcher(pattern); err != nil && !strings.Contains(err.Error(), "nest") {
				t.Errorf("%.20s…%s: %v", pattern, end, err)
			}
			// A minute is what nothing takes by accident, and less than a power of the length.
			if took := time.Since(begin); took > time.Minute {
				t.Errorf("%.20s…%s took %v", pattern, end, took)
			}
		}
	}
}

// TestUnlisted: a directory that can't be listed may hold what a pattern matches. It is
// denied if the command could get at that.
func TestUnlisted(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		mode    fs.FileMode
		written bool
		want    bool
	}{
		{0o711, false, true}, {0o700, false, true}, {0, false, false}, {0, true, true}, {0o600, true, true}, {0o644, false, false},
	} {
		host := newMemory("/ws/shut/.env")
		host.shut["/ws/shut"] = true
		host.put("/ws/shut", &fstest.MapFile{Mode: fs.ModeDir | test.mode})
		entries := []string{"read root", "deny **/.env"}
		if test.written {
			entries = append(entries, "write project")
		}
		p, err := Resolve(Request{Context: asked(t, entries...), Dir: "/ws"}, host)
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.Contains(describe(p), "dir 000 /ws/shut"); got != test.want {
			t.Errorf("%v: %v", test, describe(p))
		}
	}
}

// TestLongPaths: a path that nothing can have takes no more time than others.
func TestLongPaths(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	for _, part := range []string{"a/", "../", "./", "//"} {
		if _, err := locate(newMemory(), "/"+strings.Repeat(part, 200_000)+"x"); err != nil {
			t.Error(err)
		}
	}
	// A minute is less than what a power of the length takes, on any machine.
	if took := time.Since(begin); took > time.Minute {
		t.Errorf("it took %v", took)
	}
}

// BenchmarkResolve is what is done before each start with a large policy.
func BenchmarkResolve(b *testing.B) {
	dir := b.TempDir()
	entries := []string{"read root", "write project"}
	for i := range 200 {
		path := fmt.Sprintf("%s/a/b/c%d/d", dir, i)
		if err := os.MkdirAll(path, 0o755); err != nil {
			b.Fatal(err)
		}
		entries = append(entries, []string{"read ", "write ", "deny "}[i%3]+path)
	}
	request := Request{Context: asked(b, entries...), Dir: dir}
	for b.Loop() {
		if _, err := Resolve(request, OS()); err != nil {
			b.Fatal(err)
		}
	}
}

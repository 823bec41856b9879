package spawn

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/airlock-exec/airlock/internal/spawn/tree"
)

// runOne runs a command in a group to its end.
func runOne(t *testing.T, g *Group, cmd *Command) *record {
	t.Helper()
	r := newRecord()
	if err := g.Start(cmd, func(*Process) Events { return r }); err != nil {
		t.Fatal(err)
	}
	<-r.closed
	return r
}

// The trees that a group keeps are looked at again from time to time, so that
// they do not become ever more; those with members stay, and are not given to
// others.
func TestGroupKeepsOnlyTreesWithMembers(t *testing.T) {
	t.Parallel()
	eachMeans(t, func(t *testing.T, config Config) {
		s := spawnerFor(t, config)
		g := s.NewGroup()
		var families []*family
		for range 5 {
			cmd, f := tagged(t, "setsid sleep 1000 >/dev/null 2>&1 & echo ready")
			runOne(t, g, cmd)
			f.expectAlive(t)
			families = append(families, f)
		}
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for range 50 {
					runOne(t, g, &Command{Argv: []string{"/bin/true"}, Dir: "/"})
				}
			})
		}
		all.Wait()
		g.mu.Lock()
		kept := len(g.left)
		g.mu.Unlock()
		if kept < len(families) || kept > 2*siftMin {
			t.Errorf("%d trees are kept, want at least %d and at most %d", kept, len(families), 2*siftMin)
		}
		for range 5 {
			p, r, _ := startReady(t, g, escapes["child"], false)
			p.Kill()
			<-r.closed
		}
		for _, f := range families {
			if !f.alive(t) {
				t.Error("what a closed process had left behind has died before its group was closed")
			}
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
		for _, f := range families {
			f.expectNone(t)
		}
	})
}

// Groups are closed while others start and kill.
func TestGroupCloseWhileStarting(t *testing.T) {
	t.Parallel()
	eachMeans(t, func(t *testing.T, config Config) {
		s := spawnerFor(t, config)
		for range 10 {
			g := s.NewGroup()
			var starts sync.WaitGroup
			var families []*family
			for range 4 {
				cmd, f := tagged(t, "setsid sleep 1000 & sleep 1000 & exit 3")
				families = append(families, f)
				starts.Go(func() {
					r := newRecord()
					if err := g.Start(cmd, func(*Process) Events { return r }); err == nil {
						<-r.closed
					}
				})
			}
			for range 2 {
				starts.Go(func() {
					if err := g.Close(); err != nil {
						t.Error(err)
					}
				})
			}
			starts.Wait()
			for _, f := range families {
				f.expectNone(t)
			}
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(s.groups) != 1 {
			t.Errorf("%d groups are known, want the standing one", len(s.groups))
		}
	})
}

func TestGroupOfClosedSpawner(t *testing.T) {
	t.Parallel()
	s := open()
	before := s.NewGroup()
	s.Close()
	for _, g := range []*Group{before, s.NewGroup()} {
		err := g.Start(shell("true"), nil)
		if e, ok := errors.AsType[*Error](err); !ok || e.Kind != Failed {
			t.Errorf("Start: %v, want an error of kind Failed", err)
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	}
	if s.trees.opened() != nil {
		t.Error("what holds trees together has been made ready for nothing")
	}
}

// Means that are asked for and not there make starts fail, and Check before.
func TestMeansThatAreNotThere(t *testing.T) {
	t.Parallel()
	s := New(Config{Means: "magic"})
	defer s.Close()
	checked := s.Check()
	if checked == nil || !strings.Contains(checked.Error(), "magic") {
		t.Errorf("Check: %v, want an error that names the means", checked)
	}
	_, err := startFor(s, shell("true"), newRecord())
	if e, ok := errors.AsType[*Error](err); !ok || e.Kind != Failed || e.Error() != checked.Error() {
		t.Errorf("Start: %v, want %v", err, checked)
	}

	auto := New(Config{})
	defer auto.Close()
	if err := auto.Check(); err != nil || auto.trees.opened() != nil {
		t.Errorf("Check without certain means: %v; it need not make anything ready", err)
	}
}

// journal keeps records.
type journal struct {
	mu      sync.Mutex
	records []string
}

func (j *journal) Add(record string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.records = append(j.records, record)
}

func (j *journal) Remove(string) {}

// What is made ready is made ready once, by the first start; and made anew when
// somebody has removed it.
func TestFirstStart(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	j := &journal{}
	asked := 0
	s := New(Config{
		Registrar: func() tree.Registrar { asked++; return j },
		Logger:    slog.New(slog.NewTextHandler(&log, nil)),
	})
	defer s.Close()
	if asked != 0 {
		t.Error("a registrar has been asked for before the first start")
	}
	var starts sync.WaitGroup
	for range 10 {
		starts.Go(func() { runOne(t, s.standing, &Command{Argv: []string{"/bin/true"}, Dir: "/"}) })
	}
	starts.Wait()
	means := string(s.trees.opened().Means())
	if n := strings.Count(log.String(), "means="+means); n != 1 || asked != 1 || len(j.records) != 1 {
		t.Errorf("asked for a registrar %d times, records %q, log %q", asked, j.records, log.String())
	}

	_, quoted, _ := strings.Cut(j.records[0], " ")
	path, err := strconv.Unquote(quoted)
	if err != nil || means != string(tree.Cgroup2) {
		t.Skipf("%s, %v", means, err)
	}
	leaves, err := filepath.Glob(filepath.Join(path, "[0-9]*"))
	if err != nil || len(leaves) == 0 {
		t.Fatal(leaves, err)
	}
	for _, dir := range append(leaves, path) {
		if err := os.Remove(dir); err != nil {
			t.Fatal(err)
		}
	}
	for range len(leaves) + 1 {
		if r := runOne(t, s.standing, shell("exit 3")); r.code != 3 {
			t.Errorf("exit code %d, want 3", r.code)
		}
	}
}

package fault

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/airlock-exec/airlock/client"
	"github.com/airlock-exec/airlock/protocol"
)

// means are the ways to keep hold of a tree.
var means = []string{"cgroup2", "freezer", "walk"}

// forests are scripts that grow trees. MARK is an argument by which every
// process of theirs can be found; the first line of output says that they have
// grown.
var forests = map[string]string{
	"child":        `echo up; exec sleep MARK`,
	"grandchild":   `sh -c "sleep MARK & sleep MARK" & echo up; wait`,
	"session":      `setsid sleep MARK & echo up; wait`,
	"orphan":       `( (sleep MARK >/dev/null 2>&1 </dev/null &) & ); echo up; exec sleep MARK`,
	"daemon":       `(setsid sh -c "(setsid sleep MARK &) & sleep MARK" >/dev/null 2>&1 </dev/null &); echo up; exec sleep MARK`,
	"nohup":        `nohup sleep MARK >/dev/null 2>&1 & echo up; wait`,
	"stubborn":     `trap "" TERM HUP INT QUIT; (setsid sleep MARK &); echo up; while :; do sleep MARK; done`,
	"clean env":    `env -i setsid sleep MARK >/dev/null 2>&1 & echo up; wait`,
	"ever growing": `echo up; while :; do (setsid sleep MARK &); sleep 0.02; done`,
}

// background leaves a process behind and ends.
const background = `(setsid sleep MARK >/dev/null 2>&1 </dev/null &); echo up`

// mark is an argument of sleep that nobody else uses.
func mark() string { return fmt.Sprintf("%d.%09d", 100_000+rand.IntN(900_000), rand.IntN(1e9)) }

// marked returns the processes that have an argument with the mark.
func marked(t *testing.T, mark string) []int {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		line, err := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		if err == nil && strings.Contains(string(line), mark) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// gone waits until no process has the mark.
func gone(t *testing.T, mark string) {
	t.Helper()
	eventually(t, soon, func() string {
		if pids := marked(t, mark); len(pids) > 0 {
			return fmt.Sprintf("processes %v live on", pids)
		}
		return ""
	})
}

// alive waits until a process has the mark: one that is just executing a program
// shows no arguments.
func alive(t *testing.T, mark string) {
	t.Helper()
	eventually(t, soon, func() string {
		if len(marked(t, mark)) == 0 {
			return "no process is alive"
		}
		return ""
	})
}

// dial opens a session that is closed at the end of the test.
func dial(t *testing.T, url string) client.Executor {
	t.Helper()
	e, err := client.Dial(t.Context(), url, client.Options{Name: t.Name()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// start starts a script, with a terminal or without.
func start(t *testing.T, e client.Executor, id, script string, tty bool) *client.Process {
	t.Helper()
	cwd, err := protocol.PathURIFromNative("/")
	if err != nil {
		t.Fatal(err)
	}
	p, err := e.Start(t.Context(), &protocol.StartParams{
		ProcessID: id, Argv: []string{"sh", "-c", script}, CWD: cwd, TTY: tty,
		Env: map[string]string{"PATH": os.Getenv("PATH")},
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// grow starts every forest with and without a terminal, and returns when all
// have grown.
func grow(t *testing.T, e client.Executor, mark string) []*client.Process {
	t.Helper()
	var all []*client.Process
	for name, script := range forests {
		for _, tty := range []bool{false, true} {
			p := start(t, e, fmt.Sprint(name, tty), strings.ReplaceAll(script, "MARK", mark), tty)
			all = append(all, p)
		}
	}
	for _, p := range all {
		up(t, p)
	}
	return all
}

// up waits for the first output.
func up(t *testing.T, p *client.Process) {
	t.Helper()
	for {
		event, err := p.Next(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", p.ID(), err)
		}
		if event.Kind == client.Output {
			return
		}
	}
}

// traces are what a daemon has made that must not outlive it.
type traces struct {
	cgroups map[string]bool // names
	warden  int
}

// tracesOf finds what a daemon has made for the processes with a mark.
func tracesOf(t *testing.T, d *daemon, mark string) traces {
	t.Helper()
	found := traces{cgroups: map[string]bool{}, warden: warden(t, d)}
	for _, pid := range marked(t, mark) {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
		if err != nil {
			continue // it has ended
		}
		for _, name := range strings.FieldsFunc(string(text), func(r rune) bool { return r == '/' || r == '\n' }) {
			if strings.HasPrefix(name, "airlock-") {
				found.cgroups[name] = true
			}
		}
	}
	return found
}

// gone waits until there is nothing left.
func (tr traces) gone(t *testing.T) {
	t.Helper()
	eventually(t, soon, func() string {
		if slices.Contains(marked(t, "airlock-helper"), tr.warden) {
			return "the warden lives on"
		}
		left := ""
		_ = filepath.WalkDir("/sys/fs/cgroup", func(path string, e fs.DirEntry, err error) error {
			if err == nil && e.IsDir() && tr.cgroups[e.Name()] {
				left = path + " is left"
			}
			return nil
		})
		_ = filepath.WalkDir(runtimeDir, func(path string, e fs.DirEntry, err error) error {
			if err == nil && !e.IsDir() {
				left = path + " is left"
			}
			return nil
		})
		return left
	})
}

// warden returns the helper that a daemon has started.
func warden(t *testing.T, d *daemon) int {
	t.Helper()
	pid := 0
	eventually(t, soon, func() string {
		for _, candidate := range marked(t, "airlock-helper") {
			stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", candidate))
			if err != nil {
				continue
			}
			_, rest, _ := strings.Cut(string(stat), ") ")
			if words := strings.Fields(rest); len(words) > 1 && words[0] != "Z" && words[1] == strconv.Itoa(d.pid()) {
				pid = candidate
				return ""
			}
		}
		return "the daemon has no warden"
	})
	return pid
}

// TestDeath: whatever ends a tree ends all of it, by every means.
func TestDeath(t *testing.T) {
	ends := map[string]func(t *testing.T, d *daemon, e client.Executor, all []*client.Process){
		"terminate": func(t *testing.T, _ *daemon, _ client.Executor, all []*client.Process) {
			for _, p := range all {
				if _, err := p.Terminate(t.Context()); err != nil {
					t.Error(err)
				}
			}
		},
		"expiry": func(_ *testing.T, _ *daemon, e client.Executor, _ []*client.Process) { _ = e.Close() },
		"SIGTERM": func(_ *testing.T, d *daemon, _ client.Executor, _ []*client.Process) {
			d.kill(syscall.SIGTERM)
			<-d.done
		},
		"SIGKILL": func(_ *testing.T, d *daemon, _ client.Executor, _ []*client.Process) {
			d.kill(syscall.SIGKILL)
			<-d.done
		},
		"SIGKILL of the warden, then of the daemon": func(t *testing.T, d *daemon, _ client.Executor, _ []*client.Process) {
			first := warden(t, d)
			_ = syscall.Kill(first, syscall.SIGKILL)
			eventually(t, soon, func() string {
				if now := warden(t, d); now == first {
					return "no new warden"
				}
				return ""
			})
			d.kill(syscall.SIGKILL)
			<-d.done
		},
	}
	for _, by := range means {
		for name, end := range ends {
			t.Run(by+"/"+name, func(t *testing.T) {
				d := serve(t, "--trees="+by, "--session-ttl=200ms")
				e, m, m2 := dial(t, d.url), mark(), mark()
				all := grow(t, e, m)
				left := start(t, e, "left behind", strings.ReplaceAll(background, "MARK", m2), false)
				if code, err := left.Wait(t.Context()); err != nil || code != 0 {
					t.Fatalf("exit code %d, %v", code, err)
				}
				alive(t, m2) // what a command leaves behind when it ends by itself
				made := tracesOf(t, d, m)
				end(t, d, e, all)
				gone(t, m)
				if name == "terminate" {
					alive(t, m2) // the background child of another command
					_ = e.Close()
				}
				gone(t, m2)
				d.kill(syscall.SIGTERM)
				<-d.done
				made.gone(t)
			})
		}
	}
}

// TestRemovedState: the warden does its work also if a command has removed the
// file by which trees are found.
func TestRemovedState(t *testing.T) {
	d := serve(t, "--trees=walk")
	e, m := dial(t, d.url), mark()
	grow(t, e, m)
	made := tracesOf(t, d, m)
	entries, err := os.ReadDir(filepath.Join(runtimeDir, "airlock"))
	if err != nil || len(entries) == 0 {
		t.Fatalf("no state: %v", err)
	}
	for _, entry := range entries {
		if err := os.Remove(filepath.Join(runtimeDir, "airlock", entry.Name())); err != nil {
			t.Fatal(err)
		}
	}
	more := mark()
	up(t, start(t, e, "later", strings.ReplaceAll(forests["daemon"], "MARK", more), false))
	d.kill(syscall.SIGKILL)
	<-d.done
	gone(t, m)
	gone(t, more)
	made.gone(t)
}

// TestDeathOfBoth: when the warden is killed together with the daemon, the next
// daemon cleans up.
func TestDeathOfBoth(t *testing.T) {
	for _, by := range means {
		t.Run(by, func(t *testing.T) {
			d := serve(t, "--trees="+by)
			e, m := dial(t, d.url), mark()
			grow(t, e, m)
			made := tracesOf(t, d, m)
			// Stopped, it can't do its work in between.
			_ = syscall.Kill(made.warden, syscall.SIGSTOP)
			d.kill(syscall.SIGKILL)
			_ = syscall.Kill(made.warden, syscall.SIGKILL)
			<-d.done
			next := serve(t, "--trees="+by)
			p := start(t, dial(t, next.url), "first", "true", false)
			if _, err := p.Wait(context.Background()); err != nil {
				t.Fatal(err)
			}
			gone(t, m)
			next.kill(syscall.SIGTERM)
			<-next.done
			made.gone(t)
		})
	}
}

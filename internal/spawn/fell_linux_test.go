package spawn

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/airlock-exec/airlock/internal/spawn/tree"
)

// Each command of these tests has a token in its environment, by which its
// descendants are found wherever they have gone.
const tokenVariable = "AIRLOCK_SPAWN_TEST_TOKEN"

var tokens atomic.Int64

// tagged returns a command that runs a script, and a function that lists who is
// alive of it.
func tagged(script string) (cmd *Command, alive func() []string) {
	token := fmt.Sprintf("%s=%d.%d", tokenVariable, os.Getpid(), tokens.Add(1))
	cmd = shell(script)
	cmd.Env = append([]string{token, "HOP=" + hop, "HOPS=300"}, testEnv...)
	return cmd, func() []string { return carriers(token) }
}

// carriers lists the processes that have an entry in their environment and are
// alive.
func carriers(entry string) []string {
	var found []string
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		if bytes.Contains(environment(dir), []byte("\x00"+entry+"\x00")) {
			cmdline, _ := os.ReadFile(dir + "/cmdline")
			found = append(found, filepath.Base(dir)+" "+strings.ReplaceAll(string(cmdline), "\x00", " "))
		}
	}
	return found
}

// environment returns the environment of a process, with a NUL before each
// entry. For a moment in the middle of execve a process has none, nor arguments.
func environment(dir string) []byte {
	for {
		environ, err := os.ReadFile(dir + "/environ")
		if err != nil || len(environ) > 0 {
			return append([]byte{0}, environ...)
		}
		cmdline, err := os.ReadFile(dir + "/cmdline")
		if err != nil || len(cmdline) > 0 {
			return nil
		}
		status, err := os.ReadFile(dir + "/status")
		if err != nil || bytes.Contains(status, []byte("\nState:\tZ")) || !bytes.Contains(status, []byte("\nVmSize:")) {
			return nil // dead, or of the kernel
		}
		runtime.Gosched()
	}
}

// await waits until somebody is alive, which a look may miss that is just being
// started by one that is about to exit.
func await(t *testing.T, alive func() []string) {
	t.Helper()
	for began := time.Now(); len(alive()) == 0; {
		if time.Since(began) > 5*time.Second {
			t.Fatal("nothing is left behind")
		}
	}
}

// expectNone reports who is alive.
func expectNone(t *testing.T, alive func() []string) {
	t.Helper()
	for range 3 {
		if left := alive(); len(left) > 0 {
			t.Errorf("alive: %q", left)
			return
		}
	}
}

// hop is a script that is never there for long: it starts its successor and
// exits. It ends by itself before it uses up all process ids.
const hop = `[ $HOPS -gt 0 ] && HOPS=$((HOPS - 1)) sh -c "$HOP" & exit`

// escapes are scripts that print "ready" when they have set up processes that
// try to survive.
var escapes = map[string]string{
	"alone":          "echo ready; exec sleep 1000",
	"child":          "sleep 1000 & echo ready; wait",
	"grandchild":     "sh -c 'sleep 1000 & echo ready; wait' & wait",
	"job control":    "set -m; sleep 1000 & sleep 1000 | sleep 1000 & echo ready; wait",
	"setsid":         "setsid sh -c 'echo ready; exec sleep 1000' & wait",
	"double fork":    "(setsid sh -c '(echo ready; exec sleep 1000) & exit' &) ; sleep 1000",
	"daemon":         "setsid sh -c 'setsid sh -c \"echo ready; exec sleep 1000\" >&2 & exit' & sleep 1000",
	"nohup":          "nohup sh -c 'sleep 1000; sleep 1000' </dev/null >/dev/null 2>&1 & echo ready; wait",
	"ignores TERM":   "trap '' TERM HUP INT; setsid sh -c 'echo ready; sleep 1000; sleep 1000' & sleep 1000; sleep 1000",
	"forks":          "setsid sh -c 'echo ready; while :; do sleep 0.2 & sleep 0.01; done' & sleep 1000",
	"forks and dies": "setsid sh -c \"$HOP\" & echo ready; sleep 1000",
	"stopped":        "setsid sh -c 'echo ready; kill -STOP $$' & sleep 1000",
}

// eachMeans runs a test for each of the means that reach whole trees.
func eachMeans(t *testing.T, test func(t *testing.T, config Config)) {
	t.Helper()
	for _, means := range []tree.Means{tree.Cgroup2, tree.Freezer, tree.Walk} {
		t.Run(string(means), func(t *testing.T) {
			t.Parallel()
			config := Config{Means: means}
			s := New(config)
			err := s.Check()
			s.Close()
			if err != nil {
				t.Skipf("not possible here: %v", err)
			}
			test(t, config)
		})
	}
}

func spawnerFor(t *testing.T, config Config) *Spawner {
	s := New(config)
	t.Cleanup(s.Close)
	return s
}

// startReady starts a tagged script and waits until it is ready.
func startReady(t *testing.T, g *Group, script string, tty bool) (p *Process, r *record, alive func() []string) {
	t.Helper()
	cmd, alive := tagged(script)
	stream := Stdout
	if tty {
		onTerminal(cmd)
		stream = Terminal
	}
	r = newRecord()
	if err := g.Start(cmd, func(started *Process) Events { p = started; return r }); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(script, ">&2") && !tty {
		stream = Stderr
	}
	r.await(t, stream, "ready")
	return p, r, alive
}

// When a process that has been killed is closed, nothing of its tree is alive.
func TestKillTree(t *testing.T) {
	t.Parallel()
	eachMeans(t, func(t *testing.T, config Config) {
		s := spawnerFor(t, config)
		g := s.NewGroup()
		_, neighbour, untouched := startReady(t, g, "setsid sh -c 'sleep 1000 & echo ready; exec sleep 1000' & wait", false)
		before := untouched()
		for name, script := range escapes {
			for _, tty := range []bool{false, true} {
				t.Run(name+"/tty="+strconv.FormatBool(tty), func(t *testing.T) {
					p, r, alive := startReady(t, g, script, tty)
					began := time.Now()
					p.Kill()
					<-r.closed
					if took := time.Since(began); took > 2*time.Second {
						t.Errorf("took %v to die", took)
					}
					expectNone(t, alive)
				})
			}
		}
		after := untouched()
		for _, p := range before {
			pid, _, _ := strings.Cut(p, " ")
			if !slices.ContainsFunc(after, func(q string) bool { return strings.HasPrefix(q, pid+" ") }) {
				t.Errorf("a neighbour has lost a process: %q, before %q", after, before)
			}
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
		<-neighbour.closed
		expectNone(t, untouched)
	})
}

// What a closed process leaves behind lives on until the group is closed.
func TestGroupCloseKillsWhatIsLeft(t *testing.T) {
	t.Parallel()
	eachMeans(t, func(t *testing.T, config Config) {
		s := spawnerFor(t, config)
		g, other := s.NewGroup(), s.NewGroup()
		var lists []func() []string
		for _, script := range []string{
			"sleep 1000 >/dev/null 2>&1 & echo ready",
			"setsid sleep 1000 >/dev/null 2>&1 & echo ready",
			"(setsid sh -c 'sleep 1000 & exit' >/dev/null 2>&1 &); echo ready",
			"setsid sh -c \"$HOP\" >/dev/null 2>&1 & echo ready",
		} {
			_, r, alive := startReady(t, g, script, false)
			<-r.closed
			await(t, alive)
			lists = append(lists, alive)
		}
		_, r, untouched := startReady(t, other, "setsid sleep 1000 >/dev/null 2>&1 & echo ready", false)
		<-r.closed

		began := time.Now()
		if err := g.Close(); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("took %v to close", took)
		}
		for _, alive := range lists {
			expectNone(t, alive)
		}
		await(t, untouched)
		if err := g.Start(shell("true"), nil); err == nil {
			t.Error("a process was started in a closed group")
		}
		s.Close()
		expectNone(t, untouched)
	})
}

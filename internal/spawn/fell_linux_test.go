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

	"golang.org/x/sys/unix"

	"github.com/airlock-exec/airlock/internal/spawn/tree"
)

// Each command of these tests has a token in its environment, by which its
// descendants are found wherever they have gone.
const tokenVariable = "AIRLOCK_SPAWN_TEST_TOKEN"

var tokens atomic.Int64

// family is a command and all that descends from it.
type family struct {
	token string // an entry in the environment of each
	// life is the read end of a FIFO that each has open for writing. It tells whether
	// one of them lives also where a look at all processes finds nobody, since each
	// ends while the look is elsewhere.
	life int
}

// tagged returns a command that runs a script, and its family.
func tagged(t *testing.T, script string) (*Command, *family) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "life")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	life, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(life) })
	f := &family{token: fmt.Sprintf("%s=%d.%d", tokenVariable, os.Getpid(), tokens.Add(1)), life: life}
	cmd := shell(`exec 9>"$LIFE"; ` + script)
	cmd.Env = append([]string{f.token, "LIFE=" + path, "HOP=" + hop, "HOPS=" + strconv.Itoa(hops)}, testEnv...)
	return cmd, f
}

// alive tells whether anybody lives who has been there since the command's first
// line. Of the dead nobody is counted, reaped or not.
func (f *family) alive(t *testing.T) bool {
	t.Helper()
	// Nothing is ever written. The end is what a read finds when nobody could write.
	n, err := unix.Read(f.life, make([]byte, 1))
	if n > 0 || err != nil && err != unix.EAGAIN {
		t.Fatalf("a read of %d bytes: %v", n, err)
	}
	return err != nil
}

// members lists the processes that have the token and are alive. One may be missed
// that is just being started by one that is about to exit.
func (f *family) members() []string {
	var found []string
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		if bytes.Contains(environment(dir), []byte("\x00"+f.token+"\x00")) {
			cmdline, _ := os.ReadFile(dir + "/cmdline")
			found = append(found, filepath.Base(dir)+" "+strings.ReplaceAll(string(cmdline), "\x00", " "))
		}
	}
	return found
}

// expectAlive demands that somebody has survived.
func (f *family) expectAlive(t *testing.T) {
	t.Helper()
	if !f.alive(t) {
		t.Fatal("nothing is left behind")
	}
}

// expectNone reports who is alive. One that has been killed before the command's
// first line is not known by its descriptor, but by its token.
func (f *family) expectNone(t *testing.T) {
	t.Helper()
	alive := f.alive(t)
	if members := f.members(); alive || len(members) > 0 {
		t.Errorf("alive: %t, %q", alive, members)
	}
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

// hop is a script that is never there for long: it starts its successor and
// exits. It ends with its test, at the latest after so many hops, each of which takes
// a millisecond: more than any test lasts.
const (
	hop  = `[ -p "$LIFE" ] && [ $HOPS -gt 0 ] && HOPS=$((HOPS - 1)) sh -c "$HOP" & exit`
	hops = 200_000
)

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
func startReady(t *testing.T, g *Group, script string, tty bool) (p *Process, r *record, f *family) {
	t.Helper()
	cmd, f := tagged(t, script)
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
	return p, r, f
}

// When a process that has been killed is closed, nothing of its tree is alive.
func TestKillTree(t *testing.T) {
	t.Parallel()
	eachMeans(t, func(t *testing.T, config Config) {
		s := spawnerFor(t, config)
		g := s.NewGroup()
		_, neighbour, untouched := startReady(t, g, "setsid sh -c 'sleep 1000 & echo ready; exec sleep 1000' & wait", false)
		before := untouched.members()
		for name, script := range escapes {
			for _, tty := range []bool{false, true} {
				t.Run(name+"/tty="+strconv.FormatBool(tty), func(t *testing.T) {
					p, r, f := startReady(t, g, script, tty)
					began := time.Now()
					p.Kill()
					<-r.closed
					if took := time.Since(began); took > 2*time.Second {
						t.Errorf("took %v to die", took)
					}
					f.expectNone(t)
				})
			}
		}
		after := untouched.members()
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
		untouched.expectNone(t)
	})
}

// What a closed process leaves behind lives on until the group is closed.
func TestGroupCloseKillsWhatIsLeft(t *testing.T) {
	t.Parallel()
	eachMeans(t, func(t *testing.T, config Config) {
		s := spawnerFor(t, config)
		g, other := s.NewGroup(), s.NewGroup()
		var left []*family
		for _, script := range []string{
			"sleep 1000 >/dev/null 2>&1 & echo ready",
			"setsid sleep 1000 >/dev/null 2>&1 & echo ready",
			"(setsid sh -c 'sleep 1000 & exit' >/dev/null 2>&1 &); echo ready",
			"setsid sh -c \"$HOP\" >/dev/null 2>&1 & echo ready",
		} {
			_, r, f := startReady(t, g, script, false)
			<-r.closed
			f.expectAlive(t)
			left = append(left, f)
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
		for _, f := range left {
			f.expectNone(t)
		}
		untouched.expectAlive(t)
		if err := g.Start(shell("true"), nil); err == nil {
			t.Error("a process was started in a closed group")
		}
		s.Close()
		untouched.expectNone(t)
	})
}

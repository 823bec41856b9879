//go:build unix

package terminal

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// nap returns a command that does nothing for long, and that nobody else has.
func nap() string { return fmt.Sprintf("sleep 1000.%09d", rand.N(1_000_000_000)) }

// process is what ps tells.
type process struct {
	pid   int
	state string // T is stopped, + in the foreground
	args  string
}

// find returns the process whose command line begins and ends with two texts.
func find(begin, end string) (p process, ok bool) {
	out, _ := exec.Command("ps", "-A", "-ww", "-o", "pid=", "-o", "stat=", "-o", "args=").Output()
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		if len(words) < 3 {
			continue
		}
		p.pid, _ = strconv.Atoi(words[0])
		p.state, p.args = words[1], strings.Join(words[2:], " ")
		if strings.HasPrefix(p.args, begin) && strings.HasSuffix(p.args, end) {
			return p, true
		}
	}
	return process{}, false
}

// awaitState waits until a process has a state, given as its letter and perhaps a
// +, and returns its id.
func awaitState(t *testing.T, begin, end, want string) (pid int) {
	t.Helper()
	await(t, func() string {
		p, ok := find(begin, end)
		if !ok {
			return fmt.Sprintf("there is no process %s … %s", begin, end)
		}
		pid = p.pid
		if p.state[:1] != want[:1] || len(want) > 1 && !strings.Contains(p.state, want[1:]) {
			return fmt.Sprintf("process %d (%s) has the state %s, want %s", p.pid, p.args, p.state, want)
		}
		return ""
	})
	return pid
}

// awaitGone waits until there is no such process any more.
func awaitGone(t *testing.T, begin, end string) {
	t.Helper()
	await(t, func() string {
		if p, ok := find(begin, end); ok {
			return fmt.Sprintf("process %d (%s) is still there", p.pid, p.args)
		}
		return ""
	})
}

package fault

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// limited returns the beginning of a command line that executes the rest of it in
// a control group (of version 1) with a limit.
func limited(t *testing.T, controller, file, value string) []string {
	t.Helper()
	dir := fmt.Sprintf("/sys/fs/cgroup/%s/test-airlock-%d", controller, rand.Int())
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Skipf("no control group can be made: %v", err)
	}
	t.Cleanup(func() { _ = os.Remove(dir) })
	if err := os.WriteFile(filepath.Join(dir, file), []byte(value), 0o600); err != nil {
		t.Skipf("no limit can be set: %v", err)
	}
	return []string{"sh", "-c", fmt.Sprintf(`echo $$ > %s/cgroup.procs && exec "$0" "$@"`, dir)}
}

// TestStartsRunOut: what a start needs and can't have is an error that says so,
// and when there is some again processes start again.
func TestStartsRunOut(t *testing.T) {
	for name, test := range map[string]struct {
		wrapper func(t *testing.T) []string
		says    string
	}{
		"descriptors": {
			func(*testing.T) []string { return []string{"sh", "-c", `ulimit -n 100; exec "$0" "$@"`} },
			"too many open files",
		},
		"processes": {
			func(t *testing.T) []string { return limited(t, "pids", "pids.max", "60") },
			"resource temporarily unavailable",
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := serveUnder(t, test.wrapper(t))
			w := dialWire(t, d.url)
			for range 3 {
				started, refused := 0, ""
				for refused == "" && started < 100 {
					m := w.answer(w.send("process/start", startParams(fmt.Sprint(started), "exec sleep 1000", "")))
					if m.Error != nil {
						refused = m.Error.Message
						break
					}
					started++
				}
				if !strings.Contains(strings.ToLower(refused), test.says) || started == 0 {
					t.Errorf("after %d starts: %q", started, refused)
				}
				w.call("environment/status", `{}`)
				for i := range started {
					w.call("process/terminate", fmt.Sprintf(`{"processId":"%d"}`, i))
				}
				for closed := 0; closed < started; {
					if w.event().Method == "process/closed" {
						closed++
					}
				}
				w.conn.Close(nil)
				w = dialWire(t, d.url) // the ids are free again
			}
		})
	}
}

// TestNoProcessesLeft: a command that uses up all processes there may be takes
// neither the daemon along nor what is to clean up after it.
func TestNoProcessesLeft(t *testing.T) {
	for name, end := range map[string]func(w *wire, d *daemon){
		"expiry":  func(w *wire, _ *daemon) { w.conn.Close(nil) },
		"SIGTERM": func(_ *wire, d *daemon) { d.kill(syscall.SIGTERM) },
		"SIGKILL": func(_ *wire, d *daemon) { d.kill(syscall.SIGKILL) },
	} {
		t.Run(name, func(t *testing.T) {
			d := serveUnder(t, limited(t, "pids", "pids.max", "100"), "--session-ttl=200ms")
			w := dialWire(t, d.url)
			m := mark()
			w.start("bomb", fmt.Sprintf("echo up; while :; do (setsid sleep %s &) 2>/dev/null; done", m), "")
			eventually(t, 10*time.Second, func() string {
				if n := len(marked(t, m)); n < 50 {
					return fmt.Sprintf("%d processes", n)
				}
				return ""
			})
			for i := range 30 {
				other := dialWire(t, d.url)
				other.answer(other.send("process/start", startParams(fmt.Sprint(i), "sleep 1000", "")))
				other.call("environment/status", `{}`)
			}
			end(w, d)
			gone(t, m)
		})
	}
}

// TestVolumeLittleMemory: output that nobody takes goes to a file also where there is
// little memory for what the system keeps of files.
func TestVolumeLittleMemory(t *testing.T) {
	const total, keeps = 300 << 20 / share, 256 << 20 / share
	d := serveUnder(t, limited(t, "memory", "memory.limit_in_bytes", "64M"), "--stall-timeout=200ms", fmt.Sprintf("--spill-bytes=%d", keeps))
	c := newCable(t, d.address())
	w := dialWire(t, c.url())
	c.set(fault{blockedBack: true})
	ended := t.TempDir() + "/ended"
	w.send("process/start", startParams("p", fmt.Sprintf("head -c %d /dev/zero; touch %s", total, ended), ""))
	awaitFile(t, ended)
	c.set(fault{})
	var received counted
	for !received.closed {
		received.take(t, w.event())
	}
	if received.total+received.missed != total || received.total < keeps {
		t.Errorf("%d bytes came and %d are said to be missing: of %d", received.total, received.missed, total)
	}
}

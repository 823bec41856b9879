package escape

import (
	"fmt"
	"strings"
	"testing"

	"github.com/airlock-exec/airlock/internal/sandbox/landlock"
	"github.com/airlock-exec/airlock/protocol"
)

func hasLandlock() bool { return landlock.ABI() >= landlock.Oldest }

// TestKilledHelper: where there is no process namespace, a program can kill the
// helper that it descends from. It does not survive that, and neither does
// anything else that it has started.
func TestKilledHelper(t *testing.T) {
	if !hasLandlock() {
		t.Skip("the kernel's Landlock is too old")
	}
	for _, u := range users() {
		t.Run(u.name, func(t *testing.T) {
			h := newHost(t, u, landlocked)
			e := serve(t, u, h.home, "--sandbox-tier=landlock")
			params := h.start(t, "killer", false)
			// The last one holds the output open until it is killed, too.
			params.Argv = []string{"/bin/sh", "-c", "sleep 1000 & setsid sleep 1000 & kill -9 $PPID; wait; echo survived"}
			out, exit := run(t, e, params)
			// If it is quick, the helper has not even told that it runs.
			if exit.ExitCode != 137 && exit.SetupError == nil || out != "" {
				t.Errorf("exit code %d, %+v, %q", exit.ExitCode, exit.SetupError, out)
			}
		})
	}
}

// TestForkBomb: a program in a sandbox that makes as many children as it can gets
// no more than its limits allow, and nobody else gets to feel it.
func TestForkBomb(t *testing.T) {
	for _, u := range users() {
		t.Run(u.name, func(t *testing.T) {
			h := newHost(t, u, workspaceWrite)
			e := serve(t, u, h.home)
			params := h.start(t, "bomb", false, "bomb")
			most := uint64(60)
			params.Airlock = &protocol.StartExtra{Limits: &protocol.ProcessLimits{Processes: &most}}
			p, err := e.Start(t.Context(), params)
			if err != nil {
				// Without a control group nothing bounds them; it is refused, then.
				t.Skip(err)
			}
			out, exit := finish(t, p)
			var children int
			line := out[max(strings.Index(out, "children"), 0):]
			if _, err := fmt.Sscanf(line, "children %d", &children); err != nil || exit.ExitCode != 0 {
				// The program itself may be what gets no more threads.
				t.Logf("%d, %+v: %.300s", exit.ExitCode, exit.SetupError, out)
			}
			if children >= int(most) || exit.SetupError != nil {
				t.Errorf("%d children, %+v", children, exit.SetupError)
			}
			// There is room for others at once.
			again := h.start(t, "after", false, "user")
			if out, exit := run(t, e, again); exit.ExitCode != 0 || out != fmt.Sprint(u.id) {
				t.Errorf("after it: %d, %s", exit.ExitCode, out)
			}
		})
	}
}

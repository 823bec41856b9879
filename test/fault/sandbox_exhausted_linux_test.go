package fault

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/airlock-exec/airlock/protocol"
)

// sandboxParams is startParams in the sandbox that workspace describes.
func sandboxParams(t *testing.T, id, script, dir string) string {
	t.Helper()
	text, err := protocol.Encode(workspace(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	return startParams(id, script, `,"airlock":{},"sandbox":`+string(text))
}

// TestSandboxesRunOut: when there are no descriptors or processes left for another
// sandbox the start is refused, or its set-up fails: never does a command run with
// less around it. When there are some again sandboxes start again, and what they need
// on the host is gone with the last.
func TestSandboxesRunOut(t *testing.T) {
	for name, test := range map[string]struct {
		wrapper func(t *testing.T) []string
		most    int    // starts
		refused string // what the last one is refused with; empty: it is its set-up that fails
	}{
		"descriptors": {
			func(*testing.T) []string { return []string{"sh", "-c", `ulimit -n 120; exec "$0" "$@"`} },
			200, "too many open files",
		},
		"processes": {
			func(t *testing.T) []string { return limited(t, "pids", "pids.max", "90") },
			20, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := serveUnder(t, test.wrapper(t))
			dir := t.TempDir()
			outside := filepath.Join(t.TempDir(), "outside")
			script := fmt.Sprintf("echo x >%s; mkdir .git && echo x >%[1]s; exec sleep 1000", outside)
			for range 2 {
				w := dialWire(t, d.url)
				started, refused := 0, ""
				for refused == "" && started < test.most {
					m := w.answer(w.send("process/start", sandboxParams(t, fmt.Sprint(started), script, dir)))
					if m.Error != nil {
						refused = m.Error.Message
						break
					}
					started++
				}
				if !strings.Contains(strings.ToLower(refused), test.refused) || started == 0 {
					t.Errorf("after %d starts: %q", started, refused)
				}
				w.call("environment/status", `{}`)
				for i := range started {
					w.call("process/terminate", fmt.Sprintf(`{"processId":"%d"}`, i))
				}
				failed := 0 // the others were killed
				for closed := 0; closed < started; {
					switch m := w.event(); m.Method {
					case "process/exited":
						if m.Params.Airlock != nil && m.Params.Airlock.SetupError != nil {
							failed++
						}
					case "process/closed":
						closed++
					}
				}
				if ranOut := refused != "" || failed > 0; !ranOut || failed == started {
					t.Errorf("of %d starts the set-up of %d has failed", started, failed)
				}
				w.conn.Close(nil)
				if _, err := os.Lstat(outside); err == nil {
					t.Fatal("a command has written outside of its workspace")
				}
				eventually(t, soon, func() string { // to remove them takes descriptors, too
					if entries, _ := os.ReadDir(dir); len(entries) > 0 {
						return fmt.Sprintf("left in the workspace: %v", entries)
					}
					return ""
				})
			}
		})
	}
}

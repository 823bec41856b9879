package spawn

import (
	"errors"
	"testing"
	"time"
)

// A start that waits for its helper does not hold up the end of its group, or of
// the Spawner: the helper is killed with all that it has started, however it hangs.
func TestCloseStopsHelper(t *testing.T) {
	t.Parallel()
	eachMeans(t, func(t *testing.T, config Config) {
		for name, script := range map[string]string{
			"waits":            ": > $0; sleep 1000; exit",
			"ignores":          "trap '' TERM HUP INT; : > $0; while :; do sleep 1000; done",
			"stopped":          "(: > $0) & wait; kill -STOP $$",
			"answers no more":  "exec 4>&-; : > $0; sleep 1000; exit",
			"has left a child": "setsid sleep 1000 & : > $0; wait",
		} {
			for _, all := range []bool{false, true} {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					s := spawnerFor(t, config)
					dir := t.TempDir()
					hangs := fifo(t, dir, "hangs")
					s.system.helper = func() (string, []string, error) {
						return "/bin/sh", []string{"sh", "-c", script, dir + "/hangs"}, nil
					}
					g := s.NewGroup()
					failed := make(chan error, 1)
					go func() {
						failed <- g.Start(within(Limits{CPUSeconds: 1}, "exit 0"), func(*Process) Events {
							t.Error("a process has been adopted")
							return newRecord()
						})
					}()
					hangs()
					began, want := time.Now(), errGroupClosed
					if all {
						s.Close()
						want = errClosed
					} else if err := g.Close(); err != nil {
						t.Error(err)
					}
					err := <-failed
					if took := time.Since(began); took > 10*time.Second {
						t.Errorf("took %v", took)
					}
					e, ok := errors.AsType[*Error](err)
					if !ok || e.Kind != Failed || !errors.Is(err, want) {
						t.Errorf("error %v, want %v", err, want)
					}
				})
			}
		}
	})
}

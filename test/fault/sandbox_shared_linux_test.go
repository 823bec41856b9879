package fault

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/airlock-exec/airlock/client"
	"github.com/airlock-exec/airlock/protocol"
)

// attempts tries to make what is protected in its workspace, which is not there,
// until it is told to stop. It says when it has begun.
const attempts = `i=0
until [ -e stop ]; do
	if mkdir .git 2>/dev/null || { true >secret; } 2>/dev/null; then exit 9; fi
	i=$((i+1)); [ $i = 3 ] && echo begun
done
exit 7`

// confinedIn starts a command in the sandbox that workspace describes, and waits until
// it has said something.
func confinedIn(ctx context.Context, t *testing.T, d *daemon, dir, script string) (client.Executor, *client.Process) {
	t.Helper()
	e, err := client.Dial(ctx, d.url, client.Options{Name: t.Name()})
	if err != nil {
		t.Fatal(err)
	}
	cwd, err := protocol.PathURIFromNative(dir)
	if err != nil {
		t.Fatal(err)
	}
	p, err := e.Start(ctx, &protocol.StartParams{
		ProcessID: "p", Argv: []string{"sh", "-c", script}, CWD: cwd,
		Env: map[string]string{"PATH": os.Getenv("PATH")}, Sandbox: workspace(t, dir),
	})
	if err != nil {
		t.Fatal(err)
	}
	if event, err := p.Next(ctx); err != nil || event.Kind != client.Output {
		t.Fatalf("the command says nothing: %v, %v", event, err)
	}
	return e, p
}

// TestSandboxesShareWorkspace: two daemons have a sandbox each in the same workspace,
// with the same mount points. One of them ends, in whatever way: what is protected
// stays so in the other's sandbox, and is gone from the host with that.
func TestSandboxesShareWorkspace(t *testing.T) {
	ends := map[string]func(t *testing.T, d *daemon){
		"in peace": func(_ *testing.T, d *daemon) { d.kill(syscall.SIGTERM) },
		"killed":   func(_ *testing.T, d *daemon) { d.kill(syscall.SIGKILL) },
		"with its warden": func(_ *testing.T, d *daemon) {
			warden, _ := children(d)
			_ = syscall.Kill(warden, syscall.SIGKILL)
			d.kill(syscall.SIGKILL)
		},
	}
	for name, end := range ends {
		for first := range 2 {
			t.Run(fmt.Sprintf("%s/%d", name, first), func(t *testing.T) {
				dir := t.TempDir()
				daemons := []*daemon{serve(t), serve(t)}
				var processes []*client.Process
				for _, d := range daemons {
					e, p := confinedIn(t.Context(), t, d, dir, attempts)
					defer func() { _ = e.Close() }()
					processes = append(processes, p)
				}
				gone, left := daemons[first], processes[1-first]
				_, helpers := children(gone)
				end(t, gone)
				<-gone.done
				eventually(t, soon, func() string {
					for _, pid := range helpers {
						if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err == nil && strings.Contains(string(text), "airlock-helper") {
							return fmt.Sprintf("helper %d lives on", pid)
						}
					}
					return ""
				})
				// A third sweeps up whatever it thinks is left.
				third := serve(t)
				e, p := confinedIn(t.Context(), t, third, t.TempDir(), "echo begun")
				if code, err := p.Wait(t.Context()); err != nil || code != 0 {
					t.Errorf("the third: %d, %v", code, err)
				}
				_ = e.Close()
				if err := os.WriteFile(filepath.Join(dir, "stop"), nil, 0o600); err != nil {
					t.Fatal(err)
				}
				if code, err := left.Wait(t.Context()); err != nil || code != 7 {
					t.Errorf("the other sandbox ends with %d, %v: what is protected could be made", code, err)
				}
				daemons[1-first].kill(syscall.SIGTERM)
				<-daemons[1-first].done
				entries, err := os.ReadDir(dir)
				if err != nil || len(entries) != 1 || entries[0].Name() != "stop" {
					t.Errorf("left in the workspace: %v, %v", entries, err)
				}
			})
		}
	}
}

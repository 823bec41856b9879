package fault

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/airlock-exec/airlock/client"
	"github.com/airlock-exec/airlock/protocol"
)

// children returns the processes that a daemon has started and that live: its
// warden, and the helpers of its sandboxes, those that only wait included.
func children(d *daemon) (warden int, helpers []int) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", d.pid(), d.pid()))
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", d.pid()))
	for _, thread := range threads {
		more, _ := os.ReadFile(thread)
		text = append(append(text, ' '), more...)
	}
	for word := range strings.FieldsSeq(string(text)) {
		pid, err := strconv.Atoi(word)
		if err != nil {
			continue
		}
		switch line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); {
		case bytes.Contains(line, []byte("airlock-helper\x00warden")):
			warden = pid
		case bytes.Contains(line, []byte("airlock-helper\x00sandbox")):
			helpers = append(helpers, pid)
		}
	}
	return warden, helpers
}

// workspace is a sandbox in which a directory can be written to, but neither what
// is protected in each, nor a secret, all of which are not there; and what it
// grants has a name of its own.
func workspace(t *testing.T, dir string) *protocol.SandboxContext {
	t.Helper()
	uri := func(path string) protocol.PathURI {
		u, err := protocol.PathURIFromNative(path)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	s := protocol.RestrictedSandbox(protocol.NetworkRestricted,
		protocol.SpecialEntry(protocol.SpecialRoot, protocol.AccessRead),
		protocol.PathEntry(uri(dir), protocol.AccessWrite),
		protocol.PathEntry(uri(dir+"/secret"), protocol.AccessDeny))
	cwd := uri(dir)
	s.CWD = &cwd
	return s
}

// killed is said when the helper that was to find out what the host offers was killed,
// each time.
const killed = "has ended before it could execute the program, with status 137"

// launches starts commands in sandboxes until it has started so many, or the
// connection ends. Some of them end by themselves, the others are there to be
// killed.
func launches(ctx context.Context, t *testing.T, url, dir, mark string, n int) {
	e, err := client.Dial(ctx, url, client.Options{Name: t.Name()})
	if err != nil {
		return // the daemon has been killed already
	}
	defer func() { _ = e.Close() }()
	cwd, err := protocol.PathURIFromNative(dir)
	if err != nil {
		t.Error(err)
		return
	}
	scripts := []string{"true", "echo x >file; rm file", "sleep MARK & exec sleep MARK", "(setsid sleep MARK &); sleep MARK", "mkdir .git secret; sleep 0.05"}
	var waits sync.WaitGroup
	defer waits.Wait()
	for i := range n {
		script := strings.ReplaceAll(scripts[rand.IntN(len(scripts))], "MARK", mark)
		p, err := e.Start(ctx, &protocol.StartParams{
			ProcessID: fmt.Sprint(mark, "/", i), Argv: []string{"sh", "-c", script}, CWD: cwd, TTY: rand.IntN(4) == 0,
			Env: map[string]string{"PATH": os.Getenv("PATH")}, Sandbox: workspace(t, dir),
		})
		if err != nil {
			if refused, ok := errors.AsType[*protocol.Error](err); ok &&
				strings.HasPrefix(string(refused.Kind()), "sandbox") && !strings.Contains(err.Error(), killed) {
				t.Errorf("start %d: %v", i, err)
			}
			return
		}
		waits.Go(func() {
			switch rand.IntN(3) {
			case 0:
				_, _ = p.Terminate(ctx)
			case 1:
				_, _ = p.Wait(ctx)
			}
		})
		if strings.Contains(script, mark) && rand.IntN(2) == 0 {
			_, _ = p.Terminate(ctx)
		}
	}
}

// TestVolumeSandboxResidue launches a thousand sandboxes while commands, helpers,
// the warden and the daemon are killed at any time. Nothing is left on the host: no
// process, and with that no namespace; no mount point, mount, control group, or
// file.
func TestVolumeSandboxResidue(t *testing.T) {
	const (
		total = 1000 / share
		round = 50
	)
	workspaces := []string{t.TempDir(), t.TempDir()}
	m := mark()
	var made []traces
	var helpers []int
	for n := 0; n < total; n += round {
		d := serve(t, "--session-ttl=100ms")
		ctx, cancel := context.WithCancel(t.Context())
		var clients sync.WaitGroup
		for _, dir := range workspaces {
			clients.Go(func() { launches(ctx, t, d.url, dir, m, round/len(workspaces)) })
		}
		launched := make(chan struct{})
		go func() {
			defer close(launched)
			clients.Wait()
		}()
		found := spree(d, m, launched)
		made = append(made, found.traces)
		helpers = append(helpers, found.helpers...)
		<-d.done
		cancel() // nobody comes back to this one
		<-launched
	}
	// The last one ends in peace, and has removed what nobody before could.
	d := serve(t)
	launches(t.Context(), t, d.url, workspaces[0], m, 1)
	d.kill(syscall.SIGTERM)
	<-d.done

	gone(t, m)
	for _, tr := range made {
		tr.gone(t)
	}
	eventually(t, soon, func() string {
		for _, pid := range helpers {
			if line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err == nil && bytes.Contains(line, []byte("airlock-helper\x00sandbox")) {
				return fmt.Sprintf("helper %d lives on", pid)
			}
		}
		return ""
	})
	for _, dir := range workspaces {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.Name() != "file" { // of a command that was killed before it could remove it
				t.Errorf("left in a workspace: %v", e)
			}
		}
	}
	for line := range strings.Lines(mounts(t)) {
		for _, dir := range workspaces {
			if strings.Contains(line, dir) {
				t.Errorf("mounted on the host: %s", line)
			}
		}
	}
}

// found is what was there during a spree.
type found struct {
	traces
	helpers []int
}

// spree kills commands and helpers at random until all is launched or it is the
// daemon's turn, with its warden or without, or asks that to end.
func spree(d *daemon, mark string, launched <-chan struct{}) found {
	f := found{traces: traces{cgroups: map[string]bool{}}}
	over := time.After(time.Duration(rand.IntN(1500)) * time.Millisecond)
	for going := true; going; {
		warden, helpers := children(d)
		f.traces.warden = warden
		f.helpers = append(f.helpers, helpers...)
		if len(helpers) > 0 && rand.IntN(2) == 0 {
			victim := helpers[rand.IntN(len(helpers))]
			for name := range cgroupsOf(victim) {
				f.cgroups[name] = true
			}
			_ = syscall.Kill(victim, syscall.SIGKILL)
		}
		if warden != 0 && rand.IntN(20) == 0 {
			_ = syscall.Kill(warden, syscall.SIGKILL)
		}
		select {
		case <-launched:
			going = false
		case <-over:
			going = false
		case <-time.After(time.Duration(rand.IntN(40)) * time.Millisecond):
		}
	}
	f.traces.warden, _ = children(d)
	switch rand.IntN(4) {
	case 0:
		d.kill(syscall.SIGTERM)
	case 1:
		// Stopped, it can't do its work in between.
		if f.traces.warden != 0 {
			_ = syscall.Kill(f.traces.warden, syscall.SIGSTOP)
			defer func() { _ = syscall.Kill(f.traces.warden, syscall.SIGKILL) }()
		}
		d.kill(syscall.SIGKILL)
	default:
		d.kill(syscall.SIGKILL)
	}
	return f
}

// cgroupsOf returns the control groups of ours that a process is in.
func cgroupsOf(pid int) map[string]bool {
	names := map[string]bool{}
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	for _, name := range strings.FieldsFunc(string(text), func(r rune) bool { return r == '/' || r == '\n' }) {
		if strings.HasPrefix(name, "airlock-") {
			names[name] = true
		}
	}
	return names
}

// mounts returns what is mounted on the host.
func mounts(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// sandboxContext is the "sandbox" of process/start: the confinement wanted.
type sandboxContext struct {
	Permissions struct {
		Type       string `json:"type"`
		FileSystem struct {
			Type    string         `json:"type"`
			Entries []sandboxEntry `json:"entries"`
		} `json:"file_system"`
		Network string `json:"network"`
	} `json:"permissions"`
	Cwd                 string `json:"cwd"`
	WindowsSandboxLevel string `json:"windowsSandboxLevel"` // required on every system
}

type sandboxEntry struct {
	Path struct {
		Type  string            `json:"type"`
		Value map[string]string `json:"value"`
	} `json:"path"`
	Access string `json:"access"`
}

// readOnly lets a process read everything, write nothing and reach no network.
func readOnly() *sandboxContext {
	var root sandboxEntry
	root.Path.Type, root.Path.Value, root.Access = "special", map[string]string{"kind": "root"}, "read"
	s := &sandboxContext{Cwd: "file:///", WindowsSandboxLevel: "disabled"}
	s.Permissions.Type, s.Permissions.Network = "managed", "restricted"
	s.Permissions.FileSystem.Type = "restricted"
	s.Permissions.FileSystem.Entries = []sandboxEntry{root}
	return s
}

// bwrapArgv confines the same way with bubblewrap.
var bwrapArgv = []string{
	"bwrap", "--new-session", "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev",
	"--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-net", "--proc", "/proc",
	"--cap-drop", "ALL", "--", trueArgv[0],
}

// mustNotWrite succeeds if it can't write where it could without a sandbox: speed
// without confinement is worth nothing.
func mustNotWrite(n sizes) []string {
	return []string{"/bin/sh", "-c", `if /bin/true >"$0"; then exit 1; fi`, filepath.Join(n.fixtures.dir, "must-not-be")}
}

// pace is how far apart paced starts are: 20 a second, which leaves a server
// that keeps helpers prepared the time to prepare the next.
const pace = 50 * time.Millisecond

// sandboxed times confined processes, one right after the other.
func sandboxed(ctx context.Context, t *target, n sizes) (sample, error) {
	return sandboxEach(ctx, t, n, 0)
}

// sandboxedPaced times them at the pace.
func sandboxedPaced(ctx context.Context, t *target, n sizes) (sample, error) {
	return sandboxEach(ctx, t, n, pace)
}

// sandboxEach acknowledges at once: the peer's plain start waits 40 ms for an
// acknowledgement while nothing happens, its confined start while the sandbox is
// made, so that a sandbox would seem to take 40 ms less than it does.
func sandboxEach(ctx context.Context, t *target, n sizes, pace time.Duration) (s sample, err error) {
	sandbox := readOnly()
	err = t.withClient(ctx, nil, func(c *client, _ *instance) (err error) {
		if err := c.ws.acknowledgeAtOnce(); err != nil {
			return err
		}
		if err := c.runConfined(mustNotWrite(n), false, sandbox); err != nil {
			return fmt.Errorf("a write that the sandbox must refuse: %w", err)
		}
		s, err = timeAdded(ctx, n.sandboxed, pace,
			func() error { return c.run(trueArgv, false) },
			func() error { return c.runConfined(trueArgv, false, sandbox) })
		return err
	})
	return s, err
}

// bareSandboxed puts bubblewrap before the process. Where it is not installed, or
// the system lets it make no namespaces, there is no floor.
func bareSandboxed(ctx context.Context, n sizes) (sample, error) {
	if _, err := exec.LookPath(bwrapArgv[0]); err != nil {
		return nil, fmt.Errorf("%w: bwrap is not installed (on Debian: apt-get install bubblewrap)", errNotAvailable)
	}
	confined := func() error { return barePipe(exec.CommandContext(ctx, bwrapArgv[0], bwrapArgv[1:]...)) }
	if err := confined(); err != nil {
		return nil, fmt.Errorf("%w: bwrap can't confine here: %w", errNotAvailable, err)
	}
	return timeAdded(ctx, n.sandboxed, 0, func() error { return bareTrue(ctx) }, confined)
}

// bareSandboxedPaced starts the process in new namespaces, without anything
// mounted in them: what is left to do when all else has been prepared.
func bareSandboxedPaced(ctx context.Context, n sizes) (sample, error) {
	attributes, err := namespaceAttributes(os.Getuid(), os.Getgid())
	if err != nil {
		return nil, err
	}
	confined := func() error {
		cmd := exec.CommandContext(ctx, trueArgv[0])
		cmd.SysProcAttr = attributes
		return barePipe(cmd)
	}
	if err := confined(); err != nil {
		return nil, fmt.Errorf("%w: no new namespaces can be made here: %w", errNotAvailable, err)
	}
	return timeAdded(ctx, n.sandboxed, pace, func() error { return bareTrue(ctx) }, confined)
}

// acknowledgeAtOnce has the system acknowledge what it receives at once instead
// of after up to 40 ms, for which a server that has not set TCP_NODELAY waits
// with its next message. What a client meets is the latter; this is for measures
// of something that the wait would hide.
func (c *wsConn) acknowledgeAtOnce() error {
	raw, err := c.tcp.(*net.TCPConn).SyscallConn()
	if err != nil {
		return fmt.Errorf("setting up acknowledgements: %w", err)
	}
	// The option lasts until the system thinks better of it. Where it can't be
	// set, the connection is as usual.
	c.quick = func() { _ = raw.Control(setQuickAck) }
	return nil
}

// timeAdded runs plain and confined in turn, n times each, and returns the p50 of
// confined and how much more that is than the p50 of plain, in milliseconds.
// Confined starts are at least pace apart.
func timeAdded(ctx context.Context, n int, pace time.Duration, plain, confined func() error) (sample, error) {
	var tookPlain, tookConfined []float64
	for i := range warmUps + n {
		begin := time.Now()
		if err := plain(); err != nil {
			return nil, err
		}
		middle := time.Now()
		if err := confined(); err != nil {
			return nil, err
		}
		end := time.Now()
		if i >= warmUps {
			tookPlain = append(tookPlain, milliseconds(middle.Sub(begin)))
			tookConfined = append(tookConfined, milliseconds(end.Sub(middle)))
		}
		if wait := pace - end.Sub(begin); wait > 0 {
			if err := rest(ctx, wait); err != nil {
				return nil, err
			}
		}
	}
	p50 := median(tookConfined)
	return sample{"p50": p50, "added": p50 - median(tookPlain)}, nil
}

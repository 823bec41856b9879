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
	Cwd                 string   `json:"cwd"`
	WorkspaceRoots      []string `json:"workspaceRoots,omitempty"`
	WindowsSandboxLevel string   `json:"windowsSandboxLevel"` // required on every system
}

type sandboxEntry struct {
	Path struct {
		Type  string            `json:"type"`
		Value map[string]string `json:"value,omitempty"`
		Path  string            `json:"path,omitempty"`
	} `json:"path"`
	Access string `json:"access"`
}

// readOnly lets a process read everything, write nothing and reach no network.
func readOnly() *sandboxContext {
	s := &sandboxContext{Cwd: "file:///", WindowsSandboxLevel: "disabled"}
	s.Permissions.Type, s.Permissions.Network = "managed", "restricted"
	s.Permissions.FileSystem.Type = "restricted"
	s.allow("root", "read")
	return s
}

// workspaceWrite is readOnly, but for a directory, in which all but the protected
// names can be written.
func workspaceWrite(dir string) *sandboxContext {
	s := readOnly()
	s.WorkspaceRoots = []string{fileURI(dir)}
	s.allow("project_roots", "write")
	return s
}

func (s *sandboxContext) allow(kind, access string) {
	var e sandboxEntry
	e.Path.Type, e.Path.Value, e.Access = "special", map[string]string{"kind": kind}, access
	s.Permissions.FileSystem.Entries = append(s.Permissions.FileSystem.Entries, e)
}

// deny takes all access to a directory away.
func (s *sandboxContext) deny(dir string) {
	var e sandboxEntry
	e.Path.Type, e.Path.Path, e.Access = "path", fileURI(dir), "deny"
	s.Permissions.FileSystem.Entries = append(s.Permissions.FileSystem.Entries, e)
}

// bwrapArgv confines as readOnly does with bubblewrap, with more mounts.
func bwrapArgv(mounts ...string) []string {
	argv := []string{"bwrap", "--new-session", "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev"}
	argv = append(argv, mounts...)
	return append(argv, "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-net", "--proc", "/proc",
		"--cap-drop", "ALL", "--", trueArgv[0])
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
	return sandboxEach(ctx, t, n, readOnly(), 0)
}

// sandboxedWrite is sandboxed with a workspace that can be written.
func sandboxedWrite(ctx context.Context, t *target, n sizes) (sample, error) {
	dir, err := n.fixtures.makeWorkspace(t.name)
	if err != nil {
		return nil, err
	}
	return sandboxEach(ctx, t, n, workspaceWrite(dir), 0)
}

// sandboxedPaced times them at the pace.
func sandboxedPaced(ctx context.Context, t *target, n sizes) (sample, error) {
	return sandboxEach(ctx, t, n, readOnly(), pace)
}

// sandboxEach acknowledges at once: the peer's plain start waits 40 ms for an
// acknowledgement while nothing happens, its confined start while the sandbox is
// made, so that a sandbox would seem to take 40 ms less than it does.
func sandboxEach(ctx context.Context, t *target, n sizes, sandbox *sandboxContext, pace time.Duration) (s sample, err error) {
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

// bareSandboxed puts bubblewrap before the process.
func bareSandboxed(ctx context.Context, n sizes) (sample, error) { return bareConfined(ctx, n, nil) }

// bareSandboxedWrite does so with a workspace that can be written, but for its
// .git and three names that are not there.
func bareSandboxedWrite(ctx context.Context, n sizes) (sample, error) {
	dir, err := n.fixtures.makeWorkspace(bareName)
	if err != nil {
		return nil, err
	}
	return bareConfined(ctx, n, bwrapWorkspace(dir))
}

func bwrapWorkspace(dir string) []string {
	git := filepath.Join(dir, ".git")
	mounts := []string{"--bind", dir, dir, "--ro-bind", git, git}
	for _, name := range []string{".agents", ".codex", ".aws"} {
		path := filepath.Join(dir, name)
		mounts = append(mounts, "--perms", "555", "--tmpfs", path, "--remount-ro", path)
	}
	return mounts
}

func bareConfined(ctx context.Context, n sizes, mounts []string) (sample, error) {
	confined, err := bwrap(ctx, mounts)
	if err != nil {
		return nil, err
	}
	return timeAdded(ctx, n.sandboxed, 0, func() error { return bareTrue(ctx) }, confined)
}

// bwrap returns what runs the process confined by bubblewrap. Where it is not
// installed, or the system lets it make no namespaces, there is no floor.
func bwrap(ctx context.Context, mounts []string) (confined func() error, err error) {
	argv := bwrapArgv(mounts...)
	if _, err := exec.LookPath(argv[0]); err != nil {
		return nil, fmt.Errorf("%w: bwrap is not installed (on Debian: apt-get install bubblewrap)", errNotAvailable)
	}
	confined = func() error { return barePipe(exec.CommandContext(ctx, argv[0], argv[1:]...)) }
	if err := confined(); err != nil {
		return nil, fmt.Errorf("%w: bwrap can't confine here: %w", errNotAvailable, err)
	}
	return confined, nil
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

// timeAdded runs plain and confined n times each, and returns the p50 of confined and
// how much more that is than the p50 of plain, in milliseconds. With a pace they take
// turns, and confined starts are at least that far apart. Without one all of one kind
// come first, one right after the other: what a server does after a start, such as to
// prepare for the next, must slow down its own kind and not the other.
func timeAdded(ctx context.Context, n int, pace time.Duration, plain, confined func() error) (sample, error) {
	turns := [][]func() error{{plain}, {confined}}
	if pace > 0 {
		turns = [][]func() error{{plain, confined}}
	}
	var took [][]float64 // of plain, and of confined
	for _, turn := range turns {
		times, err := timeTurns(ctx, n, pace, turn)
		if err != nil {
			return nil, err
		}
		took = append(took, times...)
	}
	p50 := median(took[1])
	return sample{"p50": p50, "added": p50 - median(took[0])}, nil
}

// timeTurns runs all of what there is in turn, n times, and returns how long each
// of it took each time, in milliseconds.
func timeTurns(ctx context.Context, n int, pace time.Duration, all []func() error) ([][]float64, error) {
	took := make([][]float64, len(all))
	for turn := range warmUps + n {
		first := time.Now()
		for i, run := range all {
			begin := time.Now()
			if err := run(); err != nil {
				return nil, err
			}
			if turn >= warmUps {
				took[i] = append(took[i], milliseconds(time.Since(begin)))
			}
		}
		if wait := pace - time.Since(first); wait > 0 {
			if err := rest(ctx, wait); err != nil {
				return nil, err
			}
		}
	}
	return took, nil
}

package linux

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/airlock-exec/airlock/internal/helper"
	"github.com/airlock-exec/airlock/internal/helper/plan"
	"github.com/airlock-exec/airlock/internal/sandbox"
	"github.com/airlock-exec/airlock/internal/sandbox/seccomp"
	"github.com/airlock-exec/airlock/internal/spawn"
	"github.com/airlock-exec/airlock/internal/spawn/point"
	"github.com/airlock-exec/airlock/protocol"
)

func TestMain(m *testing.M) {
	helper.RunIfHelper()
	goleak.VerifyTestMain(m)
}

func newBackend(t *testing.T, config Config) *Backend {
	t.Helper()
	config.Spawner = spawn.New(spawn.Config{})
	b := New(config)
	t.Cleanup(func() {
		b.Close()
		config.Spawner.Close()
	})
	return b
}

// run runs a script, confined by a plan, and returns what it has written.
func run(t *testing.T, b *Backend, p *sandbox.Plan, script string) (output string, code int) {
	t.Helper()
	c, err := b.Confine(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	group, err := b.probes()
	if err != nil {
		t.Fatal(err)
	}
	events := &probeEvents{closed: make(chan struct{})}
	err = group.Start(&spawn.Command{
		Argv: []string{"/bin/sh", "-c", script}, Dir: p.Dir, Env: []string{"PATH=/usr/bin:/bin"},
		Confinement: c.Confinement, Cleanup: c.Undo,
	}, func(p *spawn.Process) spawn.Events {
		if f := p.SetupFailure(); f != nil {
			t.Errorf("set-up: %+v", *f)
		}
		return events
	})
	if err != nil {
		t.Fatal(err)
	}
	<-events.closed
	return string(events.output), events.code
}

func needNamespaces(t *testing.T, b *Backend) {
	t.Helper()
	if err := b.namespaces.check(t.Context()); err != nil {
		t.Skip(err)
	}
}

// A workspace in which .git and .env may not be made.
func TestPoints(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", privateDir(t))
	b := newBackend(t, Config{})
	needNamespaces(t, b)
	ws := privateDir(t)
	p := &sandbox.Plan{
		Kind: sandbox.Isolated, Base: plan.ReadOnly, Network: sandbox.NetworkOff, Dir: ws, Writable: []string{ws}, Readable: []string{"/"},
		Mounts: []plan.Mount{
			{Kind: plan.BindWritable, Path: ws},
			{Kind: plan.CoverDirectory, Path: ws + "/.git", Mode: 0o555},
			{Kind: plan.CoverFile, Path: ws + "/.env", Mode: 0},
		},
		Points: []sandbox.Point{{Path: ws + "/.git", Directory: true}, {Path: ws + "/.env"}},
	}
	for range 2 {
		out, code := run(t, b, p, "exec 2>/dev/null; echo ok >file && cat file; mkdir .git/x; (echo x >.env); rm -rf .git; ls -A; cat .env; exit 3")
		if code != 3 || out != "ok\n.env\n.git\nfile\n" {
			t.Errorf("exit code %d:\n%s", code, out)
		}
		if entries, err := os.ReadDir(ws); err != nil || len(entries) != 1 {
			t.Errorf("left in the workspace: %v, %v", entries, err)
		}
	}
}

// privateDir returns a directory that nobody else can write to, as those of the test
// are for root.
func privateDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestFitted(t *testing.T) {
	t.Parallel()
	b := newBackend(t, Config{})
	ws := t.TempDir()
	if err := os.WriteFile(filepath.Join(ws, "d"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(ws, "f"), 0o700); err != nil {
		t.Fatal(err)
	}
	mounts, undo, err := b.makePoints(&sandbox.Plan{
		Points: []sandbox.Point{{Path: ws + "/d", Directory: true}, {Path: ws + "/f"}},
		Mounts: []plan.Mount{
			{Kind: plan.CoverDirectory, Path: ws + "/d", Mode: 0o555}, {Kind: plan.CoverFile, Path: ws + "/f", Mode: 0o444},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	undo()
	want := []plan.Mount{
		{Kind: plan.CoverFile, Path: ws + "/d", Mode: 0o444}, {Kind: plan.CoverDirectory, Path: ws + "/f", Mode: 0o555},
	}
	if !slices.EqualFunc(mounts, want, func(a, b plan.Mount) bool { return a.Kind == b.Kind && a.Path == b.Path && a.Mode == b.Mode }) {
		t.Errorf("%+v", mounts)
	}
}

func TestAbsent(t *testing.T) {
	t.Parallel()
	is := map[string]point.State{"/a/b": point.Absent, "/a/c": point.File}
	for path, want := range map[string]bool{
		"/a": false, "/a/b": true, "/a/b/c/d": true, "/a/bc": false, "/a/c": false, "/a/c/d": false, "/": false,
	} {
		if got := isAbsent(path, is); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}

func isError(err error, kind protocol.ErrorKind, text string) bool {
	e, ok := errors.AsType[*protocol.Error](err)
	return ok && e.Kind() == kind && e.Code == protocol.CodeInvalidParams && strings.Contains(e.Message, text)
}

// Which tier a plan gets where the host offers namespaces, and where it does not.
func TestTiers(t *testing.T) {
	t.Parallel()
	open := &sandbox.Plan{Kind: sandbox.Unconfined}
	offline := &sandbox.Plan{Kind: sandbox.Filtered, Network: sandbox.NetworkOff}
	managed := &sandbox.Plan{Kind: sandbox.Filtered, Network: sandbox.NetworkManaged, Ports: []uint16{8080}}
	files := &sandbox.Plan{Kind: sandbox.Isolated, Base: plan.ReadOnly, Network: sandbox.NetworkOff, Readable: []string{"/"}}
	for _, test := range []struct {
		name    string
		tier    protocol.SandboxTier
		refused bool
		plan    *sandbox.Plan
		want    protocol.SandboxTier
		wrong   string
	}{
		{"nothing", "", false, open, protocol.TierNone, ""},
		{"nothing, refused", protocol.TierNamespaces, true, open, protocol.TierNone, ""},
		{"offline", "", true, offline, protocol.TierSeccomp, ""},
		{"managed", "", false, managed, protocol.TierNamespaces, ""},
		{"files", "", false, files, protocol.TierNamespaces, ""},
		{"files, refused, explicit", protocol.TierNamespaces, true, files, "", "they are refused"},
		{"managed, refused", "", true, managed, "", "they are refused"},
		{"managed, landlock", protocol.TierLandlock, false, managed, "", "Landlock can't enforce this policy"},
	} {
		b := newBackend(t, Config{Tier: test.tier})
		b.namespaces.probe = func() (bool, error) { return true, nil }
		if test.refused {
			b.namespaces.probe = func() (bool, error) { return true, unavailable("they are refused") }
		}
		c, err := b.Confine(t.Context(), test.plan)
		if test.wrong != "" {
			if !isError(err, protocol.KindSandboxUnavailable, test.wrong) || !strings.HasPrefix(err.Error(), cannot) {
				t.Errorf("%s: %v", test.name, err)
			}
			continue
		}
		if err != nil || c.Tier != test.want {
			t.Errorf("%s: tier %q, %v", test.name, c.Tier, err)
			continue
		}
		c.Undo()
		if (c.Confinement == nil) != (test.want == protocol.TierNone) {
			t.Errorf("%s: %+v", test.name, c.Confinement)
		}
		if c.Confinement != nil && (c.Confinement.Isolated != (test.want == protocol.TierNamespaces) ||
			len(c.Confinement.Filter) == 0 || c.Confinement.Privileged) {
			t.Errorf("%s: %+v", test.name, c.Confinement)
		}
	}
}

func TestManagedFullFiles(t *testing.T) {
	t.Parallel()
	b := newBackend(t, Config{OuterProc: true})
	b.namespaces.probe = func() (bool, error) { return true, nil }
	c, err := b.Confine(t.Context(), &sandbox.Plan{Kind: sandbox.Filtered, Network: sandbox.NetworkManaged, Ports: []uint16{1, 2}})
	if err != nil {
		t.Fatal(err)
	}
	got := c.Confinement
	if !got.Isolated || got.Base != plan.Writable || !got.Offline || !slices.Equal(got.Listen, []uint16{1, 2}) || !got.OuterProc {
		t.Errorf("%+v", got)
	}
}

func TestFilterOptions(t *testing.T) {
	t.Parallel()
	b := &Backend{config: Config{Nesting: true}}
	some := plan.Sockets{Paths: []string{"/s"}}
	for _, test := range []struct {
		network sandbox.Network
		sockets plan.Sockets
		want    seccomp.Options
	}{
		{sandbox.NetworkOff, some, seccomp.Options{Mode: seccomp.Restricted}},
		{sandbox.NetworkOpen, plan.Sockets{}, seccomp.Options{Mode: seccomp.Open, Judge: true}},
		{sandbox.NetworkOpen, plan.Sockets{All: true}, seccomp.Options{Mode: seccomp.Open}},
		{sandbox.NetworkManaged, plan.Sockets{}, seccomp.Options{Mode: seccomp.ProxyRouted}},
		{sandbox.NetworkManaged, some, seccomp.Options{Mode: seccomp.ProxyRouted, UnixSockets: true, Judge: true}},
		{sandbox.NetworkManaged, plan.Sockets{All: true}, seccomp.Options{Mode: seccomp.ProxyRouted, UnixSockets: true}},
	} {
		test.want.Report, test.want.Nested = true, true
		got := b.filterOptions(&sandbox.Plan{Network: test.network, Sockets: test.sockets})
		if got != test.want {
			t.Errorf("%v, %+v: %+v", test.network, test.sockets, got)
		}
		if _, err := seccomp.Compile(got); err != nil {
			t.Errorf("%+v: %v", got, err)
		}
	}
}

// What works is found out once; what does not is tried again after a while; all that
// ask meanwhile wait for one answer, but not longer than they want.
func TestProber(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var probes atomic.Int32
		result := errors.New("no")
		certain := true
		p := prober{start: func(fn func()) { go fn() }, probe: func() (bool, error) {
			probes.Add(1)
			time.Sleep(time.Second)
			return certain, result
		}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if err := p.check(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		done := make(chan error, 10)
		for range 10 {
			go func() { done <- p.check(t.Context()) }()
		}
		for range 10 {
			if err := <-done; err != result {
				t.Errorf("error %v", err)
			}
		}
		if n := probes.Load(); n != 1 {
			t.Errorf("%d probes", n)
		}
		time.Sleep(again)
		certain = false
		for range 2 { // what is not certain is not remembered
			if err := p.check(t.Context()); err != result {
				t.Errorf("error %v", err)
			}
		}
		certain, result = true, nil
		for range 3 {
			if err := p.check(t.Context()); err != nil {
				t.Errorf("error %v", err)
			}
			time.Sleep(10 * again)
		}
		if n := probes.Load(); n != 4 {
			t.Errorf("%d probes", n)
		}
	})
}

// What the host offers is found out by confining a program for real.
func TestCheck(t *testing.T) {
	t.Parallel()
	b := newBackend(t, Config{})
	err := b.Check(t.Context())
	if err != nil && !isError(err, protocol.KindSandboxUnavailable, ". ") {
		t.Errorf("error %v", err)
	}
	t.Logf("%v", err)
}

func TestFailures(t *testing.T) {
	t.Parallel()
	for stage, want := range map[string]string{
		"proc":     "systempaths=unconfined",
		"mounts":   ". ",
		"landlock": "it failed",
	} {
		text := failedStage(&spawn.SetupFailure{Stage: stage, Message: "it failed"})
		if !strings.HasPrefix(text, "it failed") || !strings.Contains(text, want) {
			t.Errorf("%s: %q", stage, text)
		}
	}
}

func TestClosed(t *testing.T) {
	t.Parallel()
	b := newBackend(t, Config{})
	b.Close()
	if err := b.Check(t.Context()); err == nil {
		t.Error("a closed backend checks")
	}
	if _, err := b.Confine(t.Context(), &sandbox.Plan{Kind: sandbox.Isolated}); err == nil {
		t.Error("a closed backend confines")
	}
}

package landlock

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"

	"github.com/airlock-exec/airlock/internal/helper/plan"
	"github.com/airlock-exec/airlock/internal/sandbox"
)

// host is one that has these files.
type host struct{ fstest.MapFS }

func name(path string) string {
	if path == "/" {
		return "."
	}
	return strings.TrimPrefix(path, "/")
}

func (h host) Lstat(path string) (fs.FileInfo, error)      { return h.MapFS.Stat(name(path)) }
func (h host) Readlink(string) (string, error)             { return "", fs.ErrInvalid }
func (h host) ReadFile(path string, _ int) ([]byte, error) { return h.MapFS.ReadFile(name(path)) }
func (h host) ReadDir(path string, each func(fs.DirEntry) error) error {
	entries, err := h.MapFS.ReadDir(name(path))
	for _, e := range entries {
		if err := each(e); err != nil {
			return err
		}
	}
	return err
}

var usual = host{fstest.MapFS{
	"usr/bin/sh": {}, "home/u/x": {}, "dev/null": {}, "dev/sda": {}, "dev/tty": {}, "proc/1": {}, "sys/x": {},
	"etc/passwd": {}, "swapfile": {}, "bin": {Mode: fs.ModeSymlink}, "socket": {Mode: fs.ModeSocket},
}}

func TestExpress(t *testing.T) {
	t.Parallel()
	device := uint64(readFile | writeFile | truncate | ioctlDev)
	top := func(rights uint64) map[string]uint64 {
		return map[string]uint64{
			"/": readDir, "/usr": rights, "/home": rights, "/etc": rights, "/swapfile": rights,
			"/proc": reading, "/sys": reading, "/dev/null": device, "/dev/tty": device,
		}
	}
	and := func(m map[string]uint64, path string, rights uint64) map[string]uint64 {
		m[path] = rights
		return m
	}
	devices := func() map[string]uint64 { return map[string]uint64{"/dev/null": device, "/dev/tty": device} }
	for _, test := range []struct {
		name string
		plan sandbox.Plan
		want map[string]uint64
	}{
		{"read only", sandbox.Plan{Base: plan.ReadOnly}, top(reading)},
		{"all may be written", sandbox.Plan{Base: plan.Writable}, top(reading | writing)},
		{"nothing", sandbox.Plan{Base: plan.Nothing}, devices()},
		{"one directory may be written", sandbox.Plan{Base: plan.ReadOnly, Mounts: []plan.Mount{
			{Kind: plan.BindWritable, Path: "/home/u"},
		}}, and(top(reading), "/home/u", reading|writing)},
		{"a part may be read, and less written", sandbox.Plan{Base: plan.Nothing, Mounts: []plan.Mount{
			{Kind: plan.BindReadOnly, Path: "/usr"},
			{Kind: plan.BindReadOnly, Path: "/home"},
			{Kind: plan.BindWritable, Path: "/home/u"},
			{Kind: plan.BindReadOnly, Path: "/usr/bin"},
		}}, and(and(and(devices(), "/usr", reading), "/home", reading), "/home/u", reading|writing)},
		{"what could not be read anyhow is hidden", sandbox.Plan{Base: plan.Nothing, Mounts: []plan.Mount{
			{Kind: plan.CoverDirectory, Path: "/home"},
		}}, devices()},
	} {
		test.plan.Kind = sandbox.Isolated
		got, err := express(&test.plan, Oldest, usual)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		rules := map[string]uint64{}
		for _, r := range got.Rules {
			rules[r.Path] |= r.Rights
		}
		if fmt.Sprint(rules) != fmt.Sprint(test.want) {
			t.Errorf("%s:\n%v, want\n%v", test.name, rules, test.want)
		}
		if got.HandledFiles != 0xffff || got.Scoped != 3 || got.HandledNetwork != 0 {
			t.Errorf("%s: %+v", test.name, got)
		}
	}
}

func TestNotExpressible(t *testing.T) {
	t.Parallel()
	writable := plan.Mount{Kind: plan.BindWritable, Path: "/ws"}
	for _, test := range []struct {
		name   string
		plan   sandbox.Plan
		abi    int
		reason string
	}{
		{"protected names", sandbox.Plan{Base: plan.ReadOnly, Mounts: []plan.Mount{
			writable, {Kind: plan.BindReadOnly, Path: "/ws/.git"},
		}}, 7, "/ws/.git can't be kept from being made or changed"},
		{"protected names that are not there", sandbox.Plan{Base: plan.ReadOnly, Mounts: []plan.Mount{
			writable, {Kind: plan.CoverDirectory, Path: "/ws/.aws"},
		}}, 7, "/ws/.aws can't be kept from being made or changed"},
		{"a secret", sandbox.Plan{Base: plan.ReadOnly, Mounts: []plan.Mount{
			{Kind: plan.CoverFile, Path: "/etc/shadow"},
		}}, 7, "/etc/shadow can't be hidden"},
		{"a cover over what was granted", sandbox.Plan{Base: plan.Nothing, Mounts: []plan.Mount{
			writable, {Kind: plan.CoverDirectory, Path: "/"},
		}}, 7, "/ws can't be kept from being made or changed"},
		{"less on top of what may be written", sandbox.Plan{Base: plan.Nothing, Mounts: []plan.Mount{
			{Kind: plan.BindWritable, Path: "/ws/a"}, {Kind: plan.BindReadOnly, Path: "/ws"},
		}}, 7, "/ws/a can't be kept from being made or changed"},
		{"proxies", sandbox.Plan{Base: plan.ReadOnly, Network: sandbox.NetworkManaged}, 7, "network namespace"},
		{"no Landlock", sandbox.Plan{Base: plan.ReadOnly}, 0, "lsm=landlock"},
		{"an old one", sandbox.Plan{Base: plan.ReadOnly}, 5, "version 6"},
		{"no base", sandbox.Plan{}, 7, "base 0"},
		{"a mount of no kind", sandbox.Plan{Base: plan.ReadOnly, Mounts: []plan.Mount{{Path: "/x"}}}, 7, "kind 0"},
	} {
		test.plan.Kind = sandbox.Isolated
		if l, err := express(&test.plan, test.abi, usual); err == nil || !strings.Contains(err.Error(), test.reason) {
			t.Errorf("%s: %+v, %v; want an error about %q", test.name, l, err, test.reason)
		}
	}
}

// TestManyAtTheRoot: the rules for all files are bounded.
func TestManyAtTheRoot(t *testing.T) {
	t.Parallel()
	many := fstest.MapFS{}
	for i := range maxTop {
		many[fmt.Sprint(i)] = &fstest.MapFile{}
	}
	p := &sandbox.Plan{Kind: sandbox.Isolated, Base: plan.ReadOnly}
	if _, err := express(p, Oldest, host{many}); err != nil {
		t.Error(err)
	}
	many["one more"] = &fstest.MapFile{}
	if _, err := express(p, Oldest, host{many}); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("%d files: %v", len(many), err)
	}
}

func TestNetworkAndScopes(t *testing.T) {
	t.Parallel()
	isolated := func(n sandbox.Network, s plan.Sockets) *sandbox.Plan {
		return &sandbox.Plan{Kind: sandbox.Isolated, Base: plan.ReadOnly, Network: n, Sockets: s}
	}
	off, err := express(isolated(sandbox.NetworkOff, plan.Sockets{}), 7, usual)
	if err != nil || off.HandledNetwork != bindTCP|connectTCP {
		t.Errorf("%+v, %v", off, err)
	}
	open, err := express(isolated(sandbox.NetworkOpen, plan.Sockets{All: true}), 7, usual)
	if err != nil || open.Scoped != scopeSignal {
		t.Errorf("%+v, %v", open, err)
	}
	filtered, err := Express(&sandbox.Plan{Kind: sandbox.Filtered, Network: sandbox.NetworkOff}, 0)
	if filtered != nil || err != nil {
		t.Errorf("%+v, %v", filtered, err)
	}
	for _, test := range []struct {
		abi  int
		plan *sandbox.Plan
		want uint64
	}{
		{7, isolated(sandbox.NetworkOpen, plan.Sockets{}), scopeAbstract},
		{5, isolated(sandbox.NetworkOpen, plan.Sockets{}), 0},
		{7, isolated(sandbox.NetworkOpen, plan.Sockets{Abstract: true}), 0},
		{7, isolated(sandbox.NetworkOff, plan.Sockets{}), 0},
		{7, &sandbox.Plan{Kind: sandbox.Filtered}, 0},
	} {
		var got uint64
		if l := Scopes(test.abi, test.plan); l != nil {
			got = l.Scoped
			if l.HandledFiles|l.HandledNetwork != 0 || len(l.Rules) > 0 {
				t.Errorf("%+v", l)
			}
		}
		if got != test.want {
			t.Errorf("version %d, %+v: %d, want %d", test.abi, test.plan, got, test.want)
		}
	}
}

// TestNeverMore: for every path, rules allow just what the mounts, made one after
// the other, come to; or there is an error.
func TestNeverMore(t *testing.T) {
	t.Parallel()
	paths := []string{"/a", "/a/b", "/a/b/c", "/a/bb", "/d", "/d/e", "/"}
	rapid.Check(t, func(t *rapid.T) {
		p := &sandbox.Plan{Kind: sandbox.Isolated, Base: rapid.SampledFrom([]plan.Base{
			plan.ReadOnly, plan.Writable, plan.Nothing,
		}).Draw(t, "base")}
		for range rapid.IntRange(0, 4).Draw(t, "mounts") {
			p.Mounts = append(p.Mounts, plan.Mount{
				Kind: rapid.SampledFrom([]plan.MountKind{
					plan.BindReadOnly, plan.BindWritable, plan.CoverDirectory,
				}).Draw(t, "kind"),
				Path: rapid.SampledFrom(paths).Draw(t, "path"),
			})
		}
		all, err := grantsOf(p)
		if err != nil {
			return
		}
		for _, path := range paths {
			access := map[plan.Base]sandbox.Access{
				plan.ReadOnly: sandbox.Read, plan.Writable: sandbox.Read | sandbox.Write,
			}[p.Base]
			for _, m := range p.Mounts { // the last one that shows the path
				if isBelow(path, m.Path) {
					access = map[plan.MountKind]sandbox.Access{
						plan.BindReadOnly: sandbox.Read, plan.BindWritable: sandbox.Read | sandbox.Write,
					}[m.Kind]
				}
			}
			if got := accessTo(all, path); got != access {
				t.Fatalf("%+v: %s may be accessed with %d, not %d; grants are %+v", p, path, got, access, all)
			}
		}
	})
}

func TestABI(t *testing.T) {
	t.Parallel()
	if v := ABI(); v < 0 || v > 1000 || v != ABI() {
		t.Errorf("the version is %d", v)
	}
}

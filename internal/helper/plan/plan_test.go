package plan

import (
	"math"
	"reflect"
	"strings"
	"testing"
)

var whole = Plan{
	Path: "/bin/sh", Argv: []string{"sh", "", "-c"}, Env: []string{"A=1", "=x", "noequals"},
	Parent: math.MaxInt32, DeathSignal: 15, Dir: "/tmp/ü",
	Rlimits: []Rlimit{{7, 200, 201}, {0, 0, math.MaxUint64}},
	Writes:  []Write{{"/sys/fs/cgroup/x/cgroup.procs", "0"}, {"", ""}},
	TTY:     true,
	Confine: &Confinement{
		Isolated: true, Base: Nothing,
		Mounts: []Mount{
			{Kind: BindReadOnly, Path: "/usr"},
			{Kind: CoverDirectory, Path: "/home/ü", Mode: 0o111, Inner: []string{"a", "a/b"}},
			{Kind: CoverFile, Path: "/x", Mode: 0o7777},
			{Kind: Link, Path: "/bin", Target: "usr/bin"},
			{Kind: CoverLink, Path: "/y"},
		},
		OuterProc: true, Offline: true, Listen: []uint16{0, 80, math.MaxUint16}, Filter: []byte("12345678"),
		Sockets: Sockets{Paths: []string{"/run/s"}, Abstract: true},
		Landlock: &Landlock{
			HandledFiles: math.MaxUint64, HandledNetwork: 3, Scoped: 1,
			Rules: []LandlockRule{{"/usr", 5}, {"", math.MaxUint64}},
		},
	},
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	for _, p := range []Plan{
		whole,
		{Argv: []string{}, Env: []string{}},
		{Argv: []string{}, Env: []string{}, Confine: &Confinement{Privileged: true, Sockets: Sockets{All: true}}},
		{Argv: []string{}, Env: []string{}, Confine: &Confinement{Landlock: &Landlock{}}},
	} {
		got, err := Decode(p.Append(nil))
		if err != nil || !reflect.DeepEqual(*got, p) {
			t.Errorf("%+v, %v; want %+v", got, err, p)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	good := string(whole.Append(nil))
	for n := range len(good) {
		if _, err := Decode([]byte(good[:n])); err == nil {
			t.Errorf("the first %d bytes are a plan", n)
		}
	}
	empty := magic + strings.Repeat("\x00", 10)
	if _, err := Decode([]byte(empty)); err != nil {
		t.Errorf("an empty plan: %v", err)
	}
	for name, text := range map[string]string{
		"something behind":        good + "\x00",
		"another version":         strings.Replace(good, "plan 2", "plan 3", 1),
		"a number too long":       magic + "\x80\x00" + strings.Repeat("\x00", 9),
		"a number out of range":   magic + strings.Repeat("\x00", 3) + "\x80\x80\x80\x80\x08" + strings.Repeat("\x00", 6),
		"a number beyond 64 bit":  magic + strings.Repeat("\xff", 10) + strings.Repeat("\x00", 9),
		"more than there is":      magic + "\x00\xff\xff\xff\xff\x0f" + strings.Repeat("\x00", 9),
		"a flag that is none":     magic + strings.Repeat("\x00", 8) + "\x02\x00",
		"isolated in no root":     magic + strings.Repeat("\x00", 9) + "\x01\x01" + strings.Repeat("\x00", 12),
		"no such base":            magic + strings.Repeat("\x00", 9) + "\x01\x00\x04" + strings.Repeat("\x00", 11),
		"no kind of a mount":      magic + strings.Repeat("\x00", 9) + "\x01\x00\x00\x01\x00" + strings.Repeat("\x00", 14),
		"no such kind of a mount": magic + strings.Repeat("\x00", 9) + "\x01\x00\x00\x01\x06" + strings.Repeat("\x00", 14),
	} {
		if p, err := Decode([]byte(text)); err == nil {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

// What is decoded is what would be encoded so.
func FuzzDecode(f *testing.F) {
	f.Add(whole.Append(nil))
	f.Add((&Plan{}).Append(nil))
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := Decode(b)
		if err != nil {
			return
		}
		if again := string(p.Append(nil)); again != string(b) {
			t.Errorf("%q is decoded, and encoded as %q", b, again)
		}
	})
}

package plan

import (
	"math"
	"reflect"
	"strings"
	"syscall"
	"testing"
)

var whole = Plan{
	Path: "/bin/sh", Argv: []string{"sh", "", "-c"}, Env: []string{"A=1", "=x", "noequals"},
	Parent: math.MaxInt32, DeathSignal: 15, Dir: "/tmp/ü",
	Rlimits: []Rlimit{{7, 200, 201}, {0, 0, math.MaxUint64}},
	Writes:  []Write{{"/sys/fs/cgroup/x/cgroup.procs", "0"}, {"", ""}},
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	for _, p := range []Plan{whole, {Argv: []string{}, Env: []string{}}} {
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
	empty := magic + strings.Repeat("\x00", 8)
	if _, err := Decode([]byte(empty)); err != nil {
		t.Errorf("an empty plan: %v", err)
	}
	for name, text := range map[string]string{
		"something behind":       good + "\x00",
		"another version":        strings.Replace(good, "plan 1", "plan 2", 1),
		"a number too long":      magic + "\x80\x00" + strings.Repeat("\x00", 7),
		"a number out of range":  magic + strings.Repeat("\x00", 3) + "\x80\x80\x80\x80\x08" + strings.Repeat("\x00", 4),
		"a number beyond 64 bit": magic + strings.Repeat("\xff", 10) + strings.Repeat("\x00", 7),
		"more than there is":     magic + "\x00\xff\xff\xff\xff\x0f" + strings.Repeat("\x00", 7),
	} {
		if p, err := Decode([]byte(text)); err == nil {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	ready := Answer{Step: Executing}
	failed := Answer{Step: Execution, Index: 3, Errno: syscall.ENOENT}
	for _, test := range []struct {
		name string
		b    []byte
		want Answer
		ok   bool
	}{
		{"nothing", nil, Answer{}, false},
		{"executing", ready.Append(nil), ready, true},
		{"executing, then failed", failed.Append(ready.Append(nil)), failed, true},
		{"cut off", failed.Append(ready.Append(nil))[:10], ready, false},
		{"nonsense", []byte("nonsense"), Answer{}, false},
		{"no such step", Answer{Step: stepsEnd}.Append(nil), Answer{}, false},
	} {
		if got, ok := DecodeAnswers(test.b); ok != test.ok || ok && got != test.want {
			t.Errorf("%s: %+v, %v; want %+v, %v", test.name, got, ok, test.want, test.ok)
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

func FuzzDecodeAnswers(f *testing.F) {
	f.Add(Answer{Step: Executing}.Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		a, ok := DecodeAnswers(b)
		if ok && string(a.Append(nil)) != string(b[len(b)-answerBytes:]) {
			t.Errorf("%q is decoded as %+v", b, a)
		}
	})
}

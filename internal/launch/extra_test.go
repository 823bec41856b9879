package launch

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/airlock-exec/airlock/internal/spawn"
	"github.com/airlock-exec/airlock/protocol"
)

func TestCheckExtra(t *testing.T) {
	t.Parallel()
	n := func(n uint64) *uint64 { return &n }
	size := func(rows, cols uint16) *protocol.TerminalSize { return &protocol.TerminalSize{Rows: rows, Cols: cols} }
	stdin := &protocol.Bytes{}
	limited := func(l protocol.ProcessLimits) protocol.StartExtra { return protocol.StartExtra{Limits: &l} }
	const year = 31_622_400_000
	for _, test := range []struct {
		name  string
		extra protocol.StartExtra
		tty   bool
		want  string // of the error; empty: none
	}{
		{name: "nothing"},
		{name: "a size", extra: protocol.StartExtra{TerminalSize: size(1, 65535)}, tty: true},
		{name: "a size without a terminal", extra: protocol.StartExtra{TerminalSize: size(1, 1)}, want: "`airlock.terminalSize` needs `tty`"},
		{name: "no rows", extra: protocol.StartExtra{TerminalSize: size(0, 1)}, tty: true, want: "rows and cols must be 1 to 65535, not 0 and 1"},
		{name: "no columns", extra: protocol.StartExtra{TerminalSize: size(1, 0)}, tty: true, want: "rows and cols must be 1 to 65535, not 1 and 0"},
		{name: "input", extra: protocol.StartExtra{Stdin: stdin}},
		{name: "input for a terminal", extra: protocol.StartExtra{Stdin: stdin}, tty: true, want: "`airlock.stdin` can't be given to a process with a terminal"},
		{name: "times", extra: protocol.StartExtra{TimeoutMs: n(1), IdleTimeoutMs: n(year)}},
		{name: "no time", extra: protocol.StartExtra{TimeoutMs: n(0)}, want: "`airlock.timeoutMs` must be 1 to 31622400000, not 0"},
		{name: "eternity", extra: protocol.StartExtra{IdleTimeoutMs: n(year + 1)}, want: "`airlock.idleTimeoutMs` must be 1 to 31622400000, not 31622400001"},
		{name: "the largest time", extra: protocol.StartExtra{TimeoutMs: n(math.MaxUint64)}, want: "not 18446744073709551615"},
		{name: "no limits", extra: limited(protocol.ProcessLimits{})},
		{name: "limits", extra: limited(protocol.ProcessLimits{
			MemoryBytes: n(math.MaxInt64), CPUSeconds: n(1), Processes: n(math.MaxInt32), OpenFiles: n(1), FileBytes: n(math.MaxInt64),
		})},
		{name: "no memory", extra: limited(protocol.ProcessLimits{MemoryBytes: n(0)}), want: "`airlock.limits.memoryBytes` must be 1 to 9223372036854775807, not 0"},
		{name: "no cpu", extra: limited(protocol.ProcessLimits{CPUSeconds: n(0)}), want: "`airlock.limits.cpuSeconds`"},
		{name: "processes", extra: limited(protocol.ProcessLimits{Processes: n(1 << 31)}), want: "`airlock.limits.processes` must be 1 to 2147483647, not 2147483648"},
		{name: "files", extra: limited(protocol.ProcessLimits{OpenFiles: n(math.MaxUint64)}), want: "`airlock.limits.openFiles`"},
		{name: "file size", extra: limited(protocol.ProcessLimits{FileBytes: n(1 << 63)}), want: "`airlock.limits.fileBytes`"},
	} {
		l := New(Config{Features: protocol.Features()})
		err := l.Check(startParams(t, func(p *protocol.StartParams) { p.TTY, p.Airlock = test.tty, &test.extra }))
		wantInvalid(t, test.name, err, test.want)
	}
}

func wantInvalid(t *testing.T, name string, err error, want string) {
	t.Helper()
	if want == "" {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		return
	}
	e, ok := errors.AsType[*protocol.Error](err)
	if !ok || e.Code != protocol.CodeInvalidParams || !strings.Contains(e.Message, want) {
		t.Errorf("%s: got %v, want %s", name, err, want)
	}
}

// TestSwitchedOff: what is asked for and not there is refused, not ignored.
func TestSwitchedOff(t *testing.T) {
	t.Parallel()
	members := map[string]struct {
		feature string
		extra   protocol.StartExtra
		tty     bool
	}{
		"terminalSize":  {protocol.FeatureResize, protocol.StartExtra{TerminalSize: &protocol.TerminalSize{Rows: 1, Cols: 1}}, true},
		"stdin":         {protocol.FeatureStdin, protocol.StartExtra{Stdin: &protocol.Bytes{}}, false},
		"timeoutMs":     {protocol.FeatureTimeouts, protocol.StartExtra{TimeoutMs: new(uint64(1))}, false},
		"idleTimeoutMs": {protocol.FeatureTimeouts, protocol.StartExtra{IdleTimeoutMs: new(uint64(1))}, false},
		"limits":        {protocol.FeatureLimits, protocol.StartExtra{Limits: &protocol.ProcessLimits{}}, false},
	}
	for name, member := range members {
		params := startParams(t, func(p *protocol.StartParams) { p.TTY, p.Airlock = member.tty, &member.extra })
		wantInvalid(t, name, New(Config{}).Check(params),
			"`airlock."+name+"` is switched off on this executor (feature "+member.feature+")")
		wantInvalid(t, name, New(Config{Features: []string{member.feature}}).Check(params), "")
	}
}

func TestCommand(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		extra *protocol.StartExtra
		tty   bool
		want  spawn.Command
	}{
		{"plain", nil, false, spawn.Command{}},
		{"terminal", &protocol.StartExtra{}, true, spawn.Command{TTY: &spawn.Size{Rows: 24, Cols: 80}}},
		{"sized", &protocol.StartExtra{TerminalSize: &protocol.TerminalSize{Rows: 5, Cols: 7}}, true, spawn.Command{TTY: &spawn.Size{Rows: 5, Cols: 7}}},
		{"input", &protocol.StartExtra{Stdin: &protocol.Bytes{}}, false, spawn.Command{Stdin: true}},
		{"limits", &protocol.StartExtra{Limits: &protocol.ProcessLimits{
			MemoryBytes: new(uint64(1)), CPUSeconds: new(uint64(2)), Processes: new(uint64(3)), OpenFiles: new(uint64(4)), FileBytes: new(uint64(5)),
		}}, false, spawn.Command{Limits: spawn.Limits{MemoryBytes: 1, CPUSeconds: 2, Processes: 3, OpenFiles: 4, FileBytes: 5}}},
		{"one limit", &protocol.StartExtra{Limits: &protocol.ProcessLimits{Processes: new(uint64(3))}}, false, spawn.Command{Limits: spawn.Limits{Processes: 3}}},
	} {
		l := &Launch{Params: startParams(t, func(p *protocol.StartParams) { p.TTY, p.Airlock = test.tty, test.extra })}
		for _, stage := range []Stage{command, resources} {
			if err := stage(t.Context(), l); err != nil {
				t.Fatal(err)
			}
		}
		l.Command.Argv, l.Command.Dir = nil, ""
		if diff := cmp.Diff(test.want, l.Command); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
}

package launch

import (
	"context"
	"math"
	"slices"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/internal/spawn"
	"github.com/airlock-exec/airlock/protocol"
)

// The size of a terminal for which no other is asked.
const (
	terminalRows = 24
	terminalCols = 80
)

// checkExtra refuses what a start asks for of Airlock, if it is switched off or
// makes no sense. What is not known is ignored, as everywhere.
func (l *Launcher) checkExtra(params *protocol.StartParams) error {
	extra := params.Airlock
	if extra == nil {
		return nil
	}
	for _, member := range []struct {
		isSet         bool
		name, feature string
	}{
		{extra.TerminalSize != nil, "terminalSize", protocol.FeatureResize},
		{extra.Stdin != nil, "stdin", protocol.FeatureStdin},
		{extra.TimeoutMs != nil, "timeoutMs", protocol.FeatureTimeouts},
		{extra.IdleTimeoutMs != nil, "idleTimeoutMs", protocol.FeatureTimeouts},
		{extra.Limits != nil, "limits", protocol.FeatureLimits},
	} {
		if member.isSet && !slices.Contains(l.features, member.feature) {
			return protocol.Errorf(protocol.CodeInvalidParams,
				"`airlock.%s` is switched off on this executor (feature %s): start the process without it",
				member.name, member.feature)
		}
	}
	if err := checkTimes(extra); err != nil {
		return err
	}
	if err := checkLimits(extra.Limits); err != nil {
		return err
	}
	size := extra.TerminalSize
	switch {
	case extra.Stdin != nil && params.TTY:
		return protocol.Errorf(protocol.CodeInvalidParams,
			"`airlock.stdin` can't be given to a process with a terminal, which has no end of input: use process/write")
	case size != nil && !params.TTY:
		return protocol.Errorf(protocol.CodeInvalidParams, "`airlock.terminalSize` needs `tty`")
	case size != nil && (size.Rows == 0 || size.Cols == 0):
		return protocol.Errorf(protocol.CodeInvalidParams,
			"`airlock.terminalSize`: rows and cols must be 1 to 65535, not %d and %d", size.Rows, size.Cols)
	}
	return nil
}

func checkTimes(extra *protocol.StartExtra) error {
	for _, member := range []struct {
		name  string
		value *uint64
	}{{"timeoutMs", extra.TimeoutMs}, {"idleTimeoutMs", extra.IdleTimeoutMs}} {
		most := uint64(limits.ProcessTimeout.Milliseconds())
		if n := member.value; n != nil && (*n == 0 || *n > most) {
			return protocol.Errorf(protocol.CodeInvalidParams,
				"`airlock.%s` must be 1 to %d, not %d; leave it out for no limit", member.name, most, *n)
		}
	}
	return nil
}

func checkLimits(l *protocol.ProcessLimits) error {
	if l == nil {
		return nil
	}
	for _, member := range []struct {
		name  string
		value *uint64
		most  uint64
	}{
		{"memoryBytes", l.MemoryBytes, math.MaxInt64},
		{"cpuSeconds", l.CPUSeconds, math.MaxInt32},
		{"processes", l.Processes, math.MaxInt32},
		{"openFiles", l.OpenFiles, math.MaxInt32},
		{"fileBytes", l.FileBytes, math.MaxInt64},
	} {
		if n := member.value; n != nil && (*n == 0 || *n > member.most) {
			return protocol.Errorf(protocol.CodeInvalidParams,
				"`airlock.limits.%s` must be 1 to %d, not %d; leave it out for no limit", member.name, member.most, *n)
		}
	}
	return nil
}

// resources takes over the limits.
func resources(_ context.Context, l *Launch) error {
	if l.Params.Airlock == nil || l.Params.Airlock.Limits == nil {
		return nil
	}
	value := func(n *uint64) uint64 {
		if n == nil {
			return 0
		}
		return *n
	}
	asked := l.Params.Airlock.Limits
	l.Command.Limits = spawn.Limits{
		MemoryBytes: value(asked.MemoryBytes),
		CPUSeconds:  value(asked.CPUSeconds),
		Processes:   value(asked.Processes),
		OpenFiles:   value(asked.OpenFiles),
		FileBytes:   value(asked.FileBytes),
	}
	return nil
}

package main

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
)

// byteLimit is a positive number of bytes; zero means that the flag was not given.
type byteLimit uint64

// UnmarshalText implements [encoding.TextUnmarshaler].
func (l *byteLimit) UnmarshalText(text []byte) error {
	var bytes size
	if bytes.UnmarshalText(text) != nil || bytes == 0 {
		return errors.New("expected a positive number of bytes such as 65536, 512KiB, 256MiB or 4GiB; K, M and G mean the same")
	}
	*l = byteLimit(bytes)
	return nil
}

// Decode implements [kong.MapperValue].
func (l *byteLimit) Decode(ctx *kong.DecodeContext) error {
	return textMapper{}.Decode(ctx, reflect.ValueOf(l).Elem())
}

// extra returns what the flags ask for that the dialect does not have, or nil.
// What the executor can't do is an error that names the flag.
func (c *runCommand) extra(info *protocol.EnvironmentInfo, size *protocol.TerminalSize) (*protocol.StartExtra, error) {
	bounds := &protocol.ProcessLimits{}
	extra := &protocol.StartExtra{}
	for _, flag := range []struct {
		name, feature string
		value, most   uint64
		member        **uint64
	}{
		{"timeout", protocol.FeatureTimeouts, milliseconds(c.Timeout), mostMilliseconds, &extra.TimeoutMs},
		{"idle-timeout", protocol.FeatureTimeouts, milliseconds(c.IdleTimeout), mostMilliseconds, &extra.IdleTimeoutMs},
		{"limit-memory", protocol.FeatureLimits, uint64(c.LimitMemory), math.MaxInt64, &bounds.MemoryBytes},
		{"limit-cpu", protocol.FeatureLimits, uint64(c.LimitCPU), math.MaxInt32, &bounds.CPUSeconds},
		{"limit-processes", protocol.FeatureLimits, uint64(c.LimitProcesses), math.MaxInt32, &bounds.Processes},
		{"limit-open-files", protocol.FeatureLimits, uint64(c.LimitOpenFiles), math.MaxInt32, &bounds.OpenFiles},
		{"limit-file-size", protocol.FeatureLimits, uint64(c.LimitFileSize), math.MaxInt64, &bounds.FileBytes},
	} {
		switch {
		case flag.value == 0:
			continue
		case !offers(info, flag.feature):
			return nil, fmt.Errorf("--%s: this executor can't do that: it lacks the feature %s, or has it switched off",
				flag.name, flag.feature)
		case flag.value > flag.most && flag.feature == protocol.FeatureTimeouts:
			return nil, fmt.Errorf("--%s: at most %v is allowed; leave it out for no limit",
				flag.name, duration(limits.ProcessTimeout))
		case flag.value > flag.most:
			return nil, fmt.Errorf("--%s: at most %d is allowed; leave it out for no limit", flag.name, flag.most)
		}
		*flag.member = &flag.value
	}
	if *bounds != (protocol.ProcessLimits{}) {
		extra.Limits = bounds
	}
	if c.TTY && offers(info, protocol.FeatureResize) {
		extra.TerminalSize = size
	}
	if *extra == (protocol.StartExtra{}) {
		return nil, nil
	}
	return extra, nil
}

// limitHint names the flags that ask for what can't be enforced, as far as the
// executor's text tells which limit that is, and who knows why.
func (c *runCommand) limitHint(extra *protocol.StartExtra, text string) string {
	if extra == nil || extra.Limits == nil {
		return ""
	}
	var asked, meant []string
	for _, limit := range []struct {
		flag, word string
		asked      bool
	}{
		{"--limit-memory", "memory", extra.Limits.MemoryBytes != nil},
		{"--limit-cpu", "processor time", extra.Limits.CPUSeconds != nil},
		{"--limit-processes", "processes", extra.Limits.Processes != nil},
		{"--limit-open-files", "open files", extra.Limits.OpenFiles != nil},
		{"--limit-file-size", "bytes", extra.Limits.FileBytes != nil},
	} {
		if !limit.asked {
			continue
		}
		asked = append(asked, limit.flag)
		if what, _, _ := strings.Cut(text, " can't be enforced"); strings.Contains(what, limit.word) {
			meant = append(meant, limit.flag)
		}
	}
	if meant == nil {
		meant = asked
	}
	where := "here"
	if c.URL != "" {
		where = "on the executor's host"
	}
	return fmt.Sprintf(" (asked for by %s; `airlock doctor` %s tells what can be had)", strings.Join(meant, ", "), where)
}

const mostMilliseconds = uint64(limits.ProcessTimeout / time.Millisecond)

// milliseconds rounds up: the shortest time is not none.
func milliseconds(d duration) uint64 {
	return uint64((time.Duration(d) + time.Millisecond - 1) / time.Millisecond)
}

// offers tells whether an executor has a feature.
func offers(info *protocol.EnvironmentInfo, feature string) bool {
	return info.Airlock != nil && slices.Contains(info.Airlock.Features, feature)
}

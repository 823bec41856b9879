package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Names of the contestants, in the order in which they take turns.
const (
	bareName    = "bare"
	peerName    = "peer"
	airlockName = "airlock"
)

// sizes says how much work each measure does in one round.
type sizes struct {
	rounds     int
	starts     int           // server starts
	spawns     int           // sequential processes
	parallel   int           // processes, 16 in flight
	streamMiB  int           // bytes through one pipe
	echoes     int           // keystrokes
	idlePTYs   int           // PTYs held open at once
	roundTrips int           // environment/status requests
	settle     time.Duration // rest before memory is read
}

var (
	full  = sizes{5, 20, 200, 400, 256, 500, 200, 2000, 2 * time.Second}
	quick = sizes{2, 5, 20, 64, 32, 50, 30, 300, 500 * time.Millisecond}
)

// sample is what one measure found in one round, by row key.
type sample map[string]float64

// measure is one experiment. It yields one or more rows of the table.
type measure struct {
	name   string
	server func(context.Context, *target, sizes) (sample, error)
	bare   func(context.Context, sizes) (sample, error) // nil: there is no floor
	rows   []row
}

// row is one line of the table.
type row struct {
	key    string
	title  string
	unit   string
	budget *budget // nil: none is set
}

// measures is the list of everything this program can measure. To add one,
// write its two functions and add it here.
//
// Budgets are those of the design, section 12. MB and KB are decimal, MiB/s
// is binary, as there.
var measures = []measure{
	{"binary", binarySize, nil, []row{
		{"size", "binary", "MB", atMost(25)},
	}},
	{"startup", startUp, nil, []row{
		{"p50", "start to listening", "ms", atMost(12)},
	}},
	{"idle", idleMemory, nil, []row{
		{"server", "idle RSS", "MB", atMost(15)},
		{"tree", "idle RSS after a start, with helpers", "MB", atMost(15)},
	}},
	{"spawn", spawnPipe, bareSpawnPipe, []row{
		{"p50", "/bin/true start to closed, p50", "ms", atMostTimesBare(1.5)},
		{"p99", "/bin/true start to closed, p99", "ms", nil},
	}},
	{"spawn-tty", spawnTTY, bareSpawnTTY, []row{
		{"p50", "same, tty, p50", "ms", atMostTimesBare(2)},
		{"p99", "same, tty, p99", "ms", nil},
	}},
	{"parallel", spawnParallel, bareSpawnParallel, []row{
		{"rate", "16 at a time", "/s", atLeastTimes(0.8, bareName)},
	}},
	{"stream-head", streamHead, bareStreamHead, []row{
		{"rate", "stream, head -c", "MiB/s", atLeastTimes(4, peerName)},
		{"peak", "stream, head -c, peak RSS", "MB", atMost(40)},
	}},
	{"stream-dd", streamDD, bareStreamDD, []row{
		{"rate", "stream, dd bs=1M", "MiB/s", atLeastTimes(4, peerName)},
		{"peak", "stream, dd bs=1M, peak RSS", "MB", atMost(40)},
	}},
	{"echo", ptyEcho, barePTYEcho, []row{
		{"p50", "PTY echo, p50", "ms", atMost(0.3)},
		{"p99", "PTY echo, p99", "ms", nil},
	}},
	{"idle-pty", idlePTYMemory, nil, []row{
		{"each", "per idle PTY", "KB", atMost(40)},
	}},
	{"stalled", besideStalled, nil, []row{
		{"alone", "environment/status round trip, p99", "ms", nil},
		{"beside", "same, beside a client that does not read 500 MiB", "ms", nil},
		{"peak", "peak RSS with that client", "MB", atMost(60)},
	}},
	{"status", statusRoundTrip, nil, []row{
		{"p50", "environment/status round trip, p50", "ms", nil},
	}},
}

// describe is s on one line, for the progress report.
func (m measure) describe(s sample) string {
	var parts []string
	for _, r := range m.rows {
		if v, ok := s[r.key]; ok {
			parts = append(parts, fmt.Sprintf("%s %s %s", r.key, formatNumber(v), r.unit))
		}
	}
	return strings.Join(parts, ", ")
}

func measureNames() []string {
	var names []string
	for _, m := range measures {
		names = append(names, m.name)
	}
	return names
}

// selectMeasures returns the measures named in the comma-separated list, or
// all of them for an empty one.
func selectMeasures(list string) ([]measure, error) {
	if list == "" {
		return measures, nil
	}
	var selected []measure
	for name := range strings.SplitSeq(list, ",") {
		i := slices.Index(measureNames(), name)
		if i < 0 {
			return nil, fmt.Errorf("unknown measure %q; there are: %s", name, strings.Join(measureNames(), ", "))
		}
		selected = append(selected, measures[i])
	}
	return selected, nil
}

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
	name       string
	rounds     int
	limit      time.Duration // no round begins after it, but for the first few; 0: none
	starts     int           // server starts
	spawns     int           // sequential processes
	parallel   int           // processes, 16 in flight
	streamMiB  int           // bytes through one pipe
	echoes     int           // keystrokes
	idlePTYs   int           // PTYs held open at once
	roundTrips int           // small requests
	sandboxed  int           // confined processes
	idleBoxes  int           // confined processes held open at once
	reads      int           // of the whole file
	walks      int           // of the whole tree
	blocks     int           // of a file, read and written
	bodyMiB    int           // of an HTTP answer
	settle     time.Duration // rest before memory is read

	turns    map[string]int // in one round, of the measures that take more than one
	fixtures *fixtures      // what the measures work on
}

var (
	full = sizes{
		name: "full", rounds: 5, starts: 20, spawns: 200, parallel: 400, streamMiB: 256, echoes: 500, idlePTYs: 200,
		roundTrips: 2000, sandboxed: 20, idleBoxes: 20, reads: 20, walks: 20, blocks: 1024, bodyMiB: 200, settle: 2 * time.Second,
	}
	quick = sizes{
		name: "quick", rounds: 2, starts: 5, spawns: 20, parallel: 64, streamMiB: 32, echoes: 50, idlePTYs: 30,
		roundTrips: 300, sandboxed: 5, idleBoxes: 5, reads: 5, walks: 5, blocks: 64, bodyMiB: 32, settle: 500 * time.Millisecond,
	}
	// check is for the regression check: many short turns, since what disturbs
	// the machine for a moment then falls on one of many, and so does how a server
	// happens to lie on the cores. Those that vary most take several in a round.
	check = sizes{
		name: "check", rounds: 9, limit: 35 * time.Second, starts: 4, spawns: 60, parallel: 96, streamMiB: 64, echoes: 100, idlePTYs: 30,
		roundTrips: 300, sandboxed: 8, idleBoxes: 5, reads: 5, walks: 5, blocks: 64, bodyMiB: 64, settle: 200 * time.Millisecond,
		turns: map[string]int{"startup": 3, "parallel": 3, "stream-head": 4, "stream-dd": 5, "echo": 6, "status": 6},
	}
)

// turnsOf is how many turns a measure takes in one round.
func (s sizes) turnsOf(m measure) int { return max(1, s.turns[m.name]) }

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

	noFloor  bool // the bare loop does not have it
	unsteady bool // it varies with the machine's load too much for the regression check
}

// measures is the list of everything this program can measure. To add one,
// write its two functions and add it here.
//
// Budgets are those of the design, section 12. MB and KB are decimal, MiB/s
// is binary, as there.
var measures = []measure{
	{"binary", binarySize, bareBinarySize, []row{
		{key: "size", title: "binary", unit: "MB", budget: atMost(25)},
	}},
	{"startup", startUp, bareStartUp, []row{
		{key: "p50", title: "start to listening", unit: "ms", budget: atMost(12)},
	}},
	{"idle", idleMemory, bareIdleMemory, []row{
		{key: "server", title: "idle RSS", unit: "MB", budget: atMost(15)},
		{key: "tree", title: "idle RSS after a start, with helpers", unit: "MB", budget: atMost(15)},
	}},
	{"spawn", spawnPipe, bareSpawnPipe, []row{
		{key: "p50", title: "/bin/true start to closed, p50", unit: "ms", budget: atMostTimes(1.5, bareName)},
		{key: "p99", title: "/bin/true start to closed, p99", unit: "ms", unsteady: true},
	}},
	{"spawn-tty", spawnTTY, bareSpawnTTY, []row{
		{key: "p50", title: "same, tty, p50", unit: "ms", budget: atMostTimes(2, bareName)},
		{key: "p99", title: "same, tty, p99", unit: "ms", unsteady: true},
	}},
	{"parallel", spawnParallel, bareSpawnParallel, []row{
		{key: "rate", title: "16 at a time (bare: loops)", unit: "/s", budget: atLeastTimes(0.8, bareName), unsteady: true},
		{key: "least", title: "same (bare: least server)", unit: "/s"},
	}},
	{"stream-head", streamHead, bareStreamHead, []row{
		{key: "rate", title: "stream, head -c (bare: pipe)", unit: "MiB/s", budget: atLeastTimes(4, peerName), unsteady: true},
		{key: "relay", title: "same (bare: least server)", unit: "MiB/s"},
		{key: "peak", title: "stream, head -c, peak RSS", unit: "MB", budget: atMost(40), noFloor: true},
	}},
	{"stream-dd", streamDD, bareStreamDD, []row{
		{key: "rate", title: "stream, dd bs=1M (bare: pipe)", unit: "MiB/s", budget: atLeastTimes(4, peerName), unsteady: true},
		{key: "relay", title: "same (bare: least server)", unit: "MiB/s"},
		{key: "peak", title: "stream, dd bs=1M, peak RSS", unit: "MB", budget: atMost(40), noFloor: true},
	}},
	{"echo", ptyEcho, barePTYEcho, []row{
		{key: "p50", title: "PTY echo, p50", unit: "ms", budget: atMost(0.3)},
		{key: "p99", title: "PTY echo, p99", unit: "ms", unsteady: true},
	}},
	{"idle-pty", idlePTYMemory, nil, []row{
		{key: "each", title: "per idle PTY", unit: "KB", budget: atMost(40)},
	}},
	{"sandbox", sandboxed, bareSandboxed, []row{
		{key: "added", title: "sandboxed /bin/true, added (bare: bwrap)", unit: "ms", budget: atMostTimes(1, bareName)},
		{key: "p50", title: "sandboxed /bin/true, start to closed, p50", unit: "ms"},
	}},
	{"sandbox-write", sandboxedWrite, bareSandboxedWrite, []row{
		{key: "added", title: "same, a workspace can be written, added", unit: "ms", budget: atMostTimes(1, bareName)},
		{key: "p50", title: "same, p50", unit: "ms"},
	}},
	{"sandbox-first", sandboxedFirst, bareSandboxed, []row{
		{key: "added", title: "first one of a server, added (bare: bwrap)", unit: "ms"},
	}},
	{"sandbox-paced", sandboxedPaced, bareSandboxedPaced, []row{
		{key: "added", title: "sandboxed, 20 a second, added (bare: clone)", unit: "ms", budget: atMost(4)},
		{key: "p50", title: "same, 20 a second, p50", unit: "ms"},
	}},
	{"sandbox-many", sandboxedMany, bareSandboxedMany, []row{
		{key: "rate", title: "100 sandboxed at once (bare: bwrap)", unit: "/s", unsteady: true},
	}},
	{"sandbox-idle", idleSandboxMemory, nil, []row{
		{key: "each", title: "per idle sandbox, RSS", unit: "MB", budget: atMost(6)},
	}},
	{"sandbox-read", sandboxedRead, nil, []row{
		{key: "p50", title: "fs/readFile of 1 KiB, sandboxed, p50", unit: "ms", budget: atMost(3)},
	}},
	{"sandbox-fs-write", sandboxedWriteFile, nil, []row{
		{key: "p50", title: "fs/writeFile of a byte, in a new workspace, p50", unit: "ms"},
	}},
	{"fs-read", readFile, bareReadFile, []row{
		{key: "rate", title: "fs/readFile, 4 MiB", unit: "MiB/s", budget: atLeastTimes(6, peerName)},
	}},
	{"fs-walk", walk, bareWalk, []row{
		{key: "p50", title: "fs/walk, 5,000 files, p50", unit: "ms", budget: atMost(12)},
	}},
	{"fs-walk-large", walkLarge, bareWalkLarge, []row{
		{key: "p50", title: "fs/walk, some 45,000 entries, p50", unit: "ms", budget: atMostTimes(0.333, peerName)},
	}},
	{"fs-metadata", metadata, bareMetadata, []row{
		{key: "p50", title: "fs/getMetadata round trip, p50", unit: "ms", budget: atMostTimes(1, peerName)},
	}},
	{"fs-blocks", blocks, bareBlocks, []row{
		{key: "read", title: "fs/readBlock, 1 GiB by 1 MiB", unit: "MiB/s"},
		{key: "write", title: "fs/writeBlock, the same", unit: "MiB/s"},
		{key: "growth", title: "RSS growth by either", unit: "MB", budget: atMost(16.7), noFloor: true},
	}},
	{"http-stream", httpStream, bareHTTPStream, []row{
		{key: "rate", title: "http/request, 200 MiB streamed", unit: "MiB/s", budget: atLeastTimes(5, peerName)},
	}},
	{"stalled", besideStalled, nil, []row{
		{key: "alone", title: "environment/status round trip, p99", unit: "ms"},
		{key: "beside", title: "same, beside a client that does not read 500 MiB", unit: "ms"},
		{key: "peak", title: "peak RSS with that client", unit: "MB", budget: atMost(60)},
	}},
	{"status", statusRoundTrip, bareRoundTrip, []row{
		{key: "p50", title: "environment/status round trip, p50", unit: "ms"},
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

package tree

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// controller is one of the kernel's that bound control groups.
type controller struct {
	name  string // the kernel's
	limit string // what we call what it bounds
	value func(Bounds) uint64
	// settings of a control group, by version.
	settings map[Mechanism]func(value uint64) []setting
}

// setting is what a file of a control group is to have.
type setting struct {
	file, text string
	// optional tells that the file need not be there.
	optional bool
	// swap tells that the file bounds swap: it need not be there while the
	// system has none.
	swap bool
}

// controllers in the order in which they are set: threads can't be started any
// more when there are as many as there may be.
var controllers = []controller{
	{
		name: "memory", limit: "memory",
		value: func(b Bounds) uint64 { return b.MemoryBytes },
		settings: map[Mechanism]func(uint64) []setting{
			ByCgroup2: memory2,
			ByCgroup1: memory1,
		},
	},
	{
		name: "pids", limit: "processes",
		value: func(b Bounds) uint64 { return b.Processes },
		settings: map[Mechanism]func(uint64) []setting{
			ByCgroup2: pidsMax,
			ByCgroup1: pidsMax,
		},
	},
}

func memory2(value uint64) []setting {
	return []setting{
		{file: "memory.oom.group", text: "1", optional: true}, // Linux 4.19
		{file: "memory.swap.max", text: "0", swap: true},
		{file: "memory.max", text: strconv.FormatUint(value, 10)},
	}
}

func memory1(value uint64) []setting {
	text := strconv.FormatUint(value, 10)
	return []setting{
		{file: "memory.limit_in_bytes", text: text},
		{file: "memory.memsw.limit_in_bytes", text: text, swap: true}, // of both together
	}
}

// mostPIDs is more than there can be of them.
const mostPIDs = 4 << 20

func pidsMax(value uint64) []setting {
	return []setting{{file: "pids.max", text: strconv.FormatUint(min(value, mostPIDs), 10)}}
}

// resolve returns what there is to write in a control group. The file swaps lists
// where the system swaps to.
func resolve(path string, settings []setting, swaps string) (writes []Write, err error) {
	for _, s := range settings {
		file := path + "/" + s.file
		if (s.optional || s.swap) && unix.Access(file, unix.F_OK) == unix.ENOENT {
			if s.swap && swapping(swaps) {
				return nil, fmt.Errorf("%s is not there, so that what is swapped out would not be bounded, and this system has swap (see %s): "+
					"have the kernel count it (swapaccount=1 on its command line) or turn it off (swapoff -a)", file, swaps)
			}
			continue
		}
		writes = append(writes, Write{file, s.text})
	}
	return writes, nil
}

// swapsFile lists where the system swaps to, below a line of titles. A kernel that
// can't swap does not have it.
const swapsFile = "/proc/swaps"

// swapping tells whether it may be that the system swaps.
func swapping(swaps string) bool {
	text, err := readFile(swaps)
	if err != nil {
		return !errors.Is(err, os.ErrNotExist)
	}
	return strings.Count(strings.TrimSpace(text), "\n") > 0
}

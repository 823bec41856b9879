package tree

import (
	"strconv"

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
	// instead is set if the file is not there.
	instead *setting
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
		{file: "memory.swap.max", text: "0", optional: true},
		{file: "memory.max", text: strconv.FormatUint(value, 10)},
	}
}

func memory1(value uint64) []setting {
	text := strconv.FormatUint(value, 10)
	return []setting{
		{file: "memory.limit_in_bytes", text: text},
		// With swap. If that is not counted there is to be none of it.
		{file: "memory.memsw.limit_in_bytes", text: text, instead: &setting{file: "memory.swappiness", text: "0"}},
	}
}

// mostPIDs is more than there can be of them.
const mostPIDs = 4 << 20

func pidsMax(value uint64) []setting {
	return []setting{{file: "pids.max", text: strconv.FormatUint(min(value, mostPIDs), 10)}}
}

// resolve returns what there is to write in a control group.
func resolve(path string, settings []setting) []Write {
	var writes []Write
	for _, s := range settings {
		file := path + "/" + s.file
		if (s.optional || s.instead != nil) && unix.Access(file, unix.F_OK) != nil {
			if s.instead == nil {
				continue
			}
			s = *s.instead
			file = path + "/" + s.file
		}
		writes = append(writes, Write{file, s.text})
	}
	return writes
}

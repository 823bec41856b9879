package seccomp

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"

	"golang.org/x/net/bpf"
)

// The layout of struct seccomp_data, and what a filter returns. Both
// architectures are little-endian: the lower half of an argument comes first.
const (
	offsetNumber = 0
	offsetArch   = 4
	offsetArgs   = 16

	returnKill   = 0x80000000
	returnNotify = 0x7fc00000
	returnErrno  = 0x00050000
	returnAllow  = 0x7fff0000

	errnoPerm  = 1
	errnoNoSys = 38
)

// Notified is what a filter's lower 16 bits say where it notifies the helper.
// The kernel ignores them there; the helper tells by them whether it can do
// without: a denial can also be had by an error.
const (
	NotifiedJudge  = 0
	NotifiedDenial = 1
)

// maxInstructions is the kernel's bound.
const maxInstructions = 4096

func compile(a *architecture, o Options) ([]byte, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	var program []bpf.Instruction
	program = append(program,
		load(offsetArch),
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: a.audit, SkipTrue: 1},
		bpf.RetConstant{Val: returnKill},
		load(offsetNumber))
	if a.alien != 0 {
		// A debugger that makes a call vanish leaves -1 in its place.
		program = append(program,
			bpf.JumpIf{Cond: bpf.JumpLessThan, Val: a.alien, SkipTrue: 3},
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0xffffffff, SkipTrue: 1},
			bpf.RetConstant{Val: returnErrno | errnoPerm},
			bpf.RetConstant{Val: returnAllow})
	}
	program = append(program, search(stretches(treat(a, o)), o)...)
	return assemble(program)
}

// stretch is a run of numbers that are treated alike, up to the next one.
type stretch struct {
	first uint32
	treatment
}

// stretches cuts all numbers there are into as few as there can be, in order.
func stretches(table map[uint32]treatment) []stretch {
	all := []stretch{{0, allow}}
	add := func(first uint32, t treatment) {
		if last := &all[len(all)-1]; last.first == first {
			last.treatment = t
		} else if last.treatment != t {
			all = append(all, stretch{first, t})
		}
	}
	for _, n := range slices.Sorted(maps.Keys(table)) {
		add(n, table[n])
		add(n+1, allow)
	}
	// What was split by a stretch of its own kind is put together.
	return slices.CompactFunc(all, func(a, b stretch) bool { return a.treatment == b.treatment })
}

// search finds the stretch that a number is in, halving them.
func search(all []stretch, o Options) []bpf.Instruction {
	if len(all) == 1 {
		return all[0].body(o)
	}
	middle := len(all) / 2
	lower, upper := search(all[:middle], o), search(all[middle:], o)
	first := all[middle].first
	if len(lower) > 255 { // farther than a condition can jump
		jump := bpf.JumpIf{Cond: bpf.JumpLessThan, Val: first, SkipTrue: 1}
		return slices.Concat([]bpf.Instruction{jump, bpf.Jump{Skip: uint32(len(lower))}}, lower, upper)
	}
	jump := bpf.JumpIf{Cond: bpf.JumpGreaterOrEqual, Val: first, SkipTrue: uint8(len(lower))}
	return slices.Concat([]bpf.Instruction{jump}, lower, upper)
}

func load(offset uint32) bpf.Instruction { return bpf.LoadAbsolute{Off: offset, Size: 4} }

// argument loads the lower half of an argument: all of what is an int, and all
// that the kernel takes of flags.
func argument(i uint32) bpf.Instruction { return load(offsetArgs + 8*i) }

func assemble(program []bpf.Instruction) ([]byte, error) {
	if len(program) > maxInstructions {
		return nil, errors.New("the seccomp filter is longer than the kernel takes")
	}
	raw, err := bpf.Assemble(program)
	if err != nil {
		return nil, err
	}
	b := make([]byte, 0, 8*len(raw))
	for _, r := range raw {
		b = binary.LittleEndian.AppendUint16(b, r.Op)
		b = append(b, r.Jt, r.Jf)
		b = binary.LittleEndian.AppendUint32(b, r.K)
	}
	return b, nil
}

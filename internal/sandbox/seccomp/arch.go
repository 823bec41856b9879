package seccomp

// architecture is how the calls of one look.
type architecture struct {
	// audit is what the kernel calls it.
	audit  uint32
	number func(call) uint32
	// alien begins the numbers of another way to call the same kernel, x32; 0
	// means that there is none.
	alien uint32
	// stray are numbers that belong to it, but which some kernels take without
	// what marks it.
	stray []uint32
}

var architectures = map[string]*architecture{
	"amd64": {
		audit:  0xc000003e,
		number: func(c call) uint32 { return uint32(c.amd64) },
		alien:  0x40000000,
		stray:  span(512, 547),
	},
	"arm64": {
		audit:  0xc00000b7,
		number: func(c call) uint32 { return uint32(c.arm64) },
	},
}

// span returns all numbers from first to last.
func span(first, last uint32) []uint32 {
	var all []uint32
	for n := first; n <= last; n++ {
		all = append(all, n)
	}
	return all
}

package seccomp

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"testing"

	"golang.org/x/net/bpf"
)

// program runs a filter as the kernel does.
type program struct {
	t  *testing.T
	vm *bpf.VM
}

func loaded(t *testing.T, a *architecture, o Options) program {
	t.Helper()
	b, err := compile(a, o)
	if err != nil {
		t.Fatal(err)
	}
	var instructions []bpf.Instruction
	for rest := b; len(rest) > 0; rest = rest[8:] {
		raw := bpf.RawInstruction{
			Op: binary.LittleEndian.Uint16(rest), Jt: rest[2], Jf: rest[3], K: binary.LittleEndian.Uint32(rest[4:]),
		}
		instructions = append(instructions, raw.Disassemble())
	}
	vm, err := bpf.NewVM(instructions)
	if err != nil {
		t.Fatal(err)
	}
	return program{t, vm}
}

// run returns what the filter says of a system call.
func (p program) run(audit, number uint32, args ...uint64) uint32 {
	p.t.Helper()
	// The VM reads words in the order of the network; seccomp in the host's.
	words := make([]uint32, 16)
	words[0], words[1] = number, audit
	for i, arg := range args {
		words[4+2*i], words[5+2*i] = uint32(arg), uint32(arg>>32)
	}
	var data []byte
	for _, w := range words {
		data = binary.BigEndian.AppendUint32(data, w)
	}
	got, err := p.vm.Run(data)
	if err != nil {
		p.t.Fatal(err)
	}
	return uint32(got)
}

const (
	eperm  = returnErrno | errnoPerm
	enosys = returnErrno | errnoNoSys
)

// What appendix C of the contract denies on x86-64, whatever the arguments are,
// but for the questions 51, 52 and 55: see sockets.
var contract = map[Mode][]uint32{
	Restricted: {
		42, 43, 44, 48, 49, 50, 54, 101, 249, 288, 299, 307, 310, 311, 425, 426, 427,
		521, 537, 538, 539, 540, 541, 542,
	},
	ProxyRouted: {101, 249, 310, 311, 425, 426, 427, 521, 539, 540},
	Open:        {425, 426, 427},
}

// TestContract compares with the contract all numbers that it or we name.
func TestContract(t *testing.T) {
	t.Parallel()
	a := architectures["amd64"]
	// What we deny besides, in each mode.
	besides := []uint32{
		248, 250, 103, 298, 321, 175, 313, 176, 246, 320, 323, 304, // never
		308, 165, 166, 155, 161, 428, 429, 430, 431, 432, 433, 442, 467, // rooms
	}
	besides = append(besides, span(512, 547)...)
	for mode, denied := range contract {
		p := loaded(t, a, Options{Mode: mode})
		denied = append(slices.Concat(denied, besides), map[Mode][]uint32{Restricted: {438}, ProxyRouted: {438}}[mode]...)
		for number := range uint32(1024) {
			want := uint32(returnAllow)
			switch {
			case number == 435:
				want = enosys
			case number == 41 || number == 53: // by their arguments, below
				continue
			case slices.Contains(denied, number):
				want = eperm
			}
			if got := p.run(a.audit, number); got != want {
				t.Errorf("mode %d, system call %d: %#x, want %#x", mode, number, got, want)
			}
			if want == eperm {
				if got := p.run(a.audit, number|0x40000000); got != eperm {
					t.Errorf("mode %d, system call %d of x32: %#x", mode, number, got)
				}
			}
		}
	}
}

// TestOthersAreKilled: the numbers of another architecture mean something else.
func TestOthersAreKilled(t *testing.T) {
	t.Parallel()
	for name, a := range architectures {
		p := loaded(t, a, Options{Mode: Open})
		for _, audit := range []uint32{0x40000003, 0xc000003e, 0xc00000b7, 0x28, 0} {
			want := uint32(returnKill)
			if audit == a.audit {
				want = returnAllow
			}
			if got := p.run(audit, 0); got != want {
				t.Errorf("%s: a call in the manner of %#x: %#x, want %#x", name, audit, got, want)
			}
		}
	}
	p := loaded(t, architectures["amd64"], Options{Mode: Open})
	if got := p.run(0xc000003e, 0xffffffff); got != returnAllow {
		t.Errorf("a call that a debugger has taken away: %#x", got)
	}
}

func TestArguments(t *testing.T) {
	t.Parallel()
	const high = 0xdead_beef_0000_0000 // of what is an int, this means nothing
	stream, packet, datagram, raw := uint64(1), uint64(5), uint64(2), uint64(3)
	flags := uint64(0o2004000) // SOCK_NONBLOCK and SOCK_CLOEXEC
	yes, no := uint32(returnAllow), uint32(eperm)
	report, ask := uint32(returnNotify|NotifiedDenial), uint32(returnNotify|NotifiedJudge)
	modes := map[string]Options{
		"restricted": {Mode: Restricted},
		"proxy":      {Mode: ProxyRouted},
		"proxy unix": {Mode: ProxyRouted, UnixSockets: true},
		"proxy some": {Mode: ProxyRouted, UnixSockets: true, Judge: true},
		"open":       {Mode: Open},
		"judged":     {Mode: Open, Judge: true},
		"reported":   {Mode: Open, Judge: true, Report: true},
		"told":       {Mode: Restricted, Report: true},
		"nested":     {Mode: Open, Nested: true},
	}
	type row struct {
		what string
		call call
		args []uint64
		want map[string]uint32 // what is not named: allowed
	}
	all := func(v uint32, but map[string]uint32) map[string]uint32 {
		m := map[string]uint32{}
		for name := range modes {
			m[name] = v
		}
		m["reported"], m["told"] = map[uint32]uint32{no: report}[v], map[uint32]uint32{no: report}[v]
		if v != no {
			m["reported"], m["told"] = v, v
		}
		maps.Copy(m, but)
		return m
	}
	unixDenied := map[string]uint32{"proxy": no}
	sends := map[string]uint32{"restricted": no, "told": report, "proxy": no, "proxy some": no, "judged": no, "reported": report}
	noInternet := map[string]uint32{"restricted": no, "told": report}
	pairs := map[string]uint32{"restricted": no, "told": report, "proxy": no, "proxy some": no, "judged": no, "reported": report}
	onlyUnix := map[string]uint32{"restricted": no, "told": report, "proxy": no, "proxy unix": no, "proxy some": no}
	rows := []row{
		{"a stream", socketCall, []uint64{high | 1, high | stream | flags}, unixDenied},
		{"packets in order", socketCall, []uint64{1, packet}, unixDenied},
		{"datagrams", socketCall, []uint64{1, datagram | flags}, sends},
		{"raw is datagrams", socketCall, []uint64{1, raw}, sends},
		{"internet", socketCall, []uint64{high | 2, stream}, noInternet},
		{"internet 6", socketCall, []uint64{10, datagram}, noInternet},
		{"netlink", socketCall, []uint64{16, raw}, onlyUnix},
		{"vsock", socketCall, []uint64{high | 40, stream}, all(no, nil)},
		{"no family", socketCall, []uint64{0, stream}, onlyUnix},
		{"a pair", socketPairCall, []uint64{high | 1, stream | flags}, nil},
		{"a pair of packets", socketPairCall, []uint64{1, packet}, nil},
		{"a pair of datagrams", socketPairCall, []uint64{1, datagram}, pairs},
		{"a pair of internet", socketPairCall, []uint64{2, stream}, onlyUnix},
		{"a pair of vsock", socketPairCall, []uint64{40, stream}, all(no, nil)},
		{"connect", connectCall, []uint64{3, 4, 5}, map[string]uint32{
			"restricted": no, "told": report, "judged": ask, "reported": ask, "proxy some": ask,
		}},
		{"push input", ioctlCall, []uint64{0, high | 0x5412}, all(no, nil)},
		{"paste", ioctlCall, []uint64{0, 0x541c}, all(no, nil)},
		{"size of a terminal", ioctlCall, []uint64{0, 0x5413}, nil},
		{"a thread", cloneCall, []uint64{0x3d0f00}, nil},
		{"a child", cloneCall, []uint64{0x01200011}, nil},
		{"a child with 0x80 as its signal", cloneCall, []uint64{0x80}, nil},
		{"a user namespace", cloneCall, []uint64{high | 0x10000011}, all(no, map[string]uint32{"nested": yes})},
		{"a namespace of files", unshareCall, []uint64{0x20000}, all(no, map[string]uint32{"nested": yes})},
		{"a namespace of time", unshareCall, []uint64{0x80}, all(no, map[string]uint32{"nested": yes})},
		{"own files", unshareCall, []uint64{0x400}, nil},
		{"clone3", clone3Call, nil, all(enosys, map[string]uint32{"nested": yes})},
		{"a key by name", requestKeyCall, []uint64{1, 2, 0, 0}, map[string]uint32{
			"restricted": no, "told": report, "proxy": no, "proxy unix": no, "proxy some": no,
		}},
		{"own limits", limitsCall, []uint64{0, 7, 1 << 40}, nil},
		{"limits of others, to be read", limitsCall, []uint64{1, 7, 0, 1 << 40}, nil},
		{"limits of others", limitsCall, []uint64{1, 7, 1 << 40}, all(no, nil)},
		{"a key by a program", requestKeyCall, []uint64{1, 2, 1 << 40, 0}, all(no, nil)},
	}
	for _, namespace := range []uint64{0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000} {
		rows = append(rows,
			row{fmt.Sprintf("clone %#x", namespace), cloneCall, []uint64{namespace | 17}, all(no, map[string]uint32{"nested": yes})},
			row{fmt.Sprintf("unshare %#x", namespace), unshareCall, []uint64{namespace}, all(no, map[string]uint32{"nested": yes})})
	}
	for archName, a := range architectures {
		for name, o := range modes {
			p := loaded(t, a, o)
			for _, r := range rows {
				want, ok := r.want[name]
				if !ok {
					want = yes
				}
				if got := p.run(a.audit, a.number(r.call), r.args...); got != want {
					t.Errorf("%s, %s: %s (%s): %#x, want %#x", archName, name, r.what, r.call.name, got, want)
				}
			}
		}
	}
}

// TestReportsCostNothing: where reports are asked for, calls are allowed, and
// denied, as without them.
func TestReportsCostNothing(t *testing.T) {
	t.Parallel()
	for name, a := range architectures {
		for _, o := range []Options{
			{Mode: Restricted},
			{Mode: ProxyRouted},
			{Mode: Open},
			{Mode: Open, Judge: true},
			{Mode: Open, Nested: true},
		} {
			plain := loaded(t, a, o)
			o.Report = true
			reported := loaded(t, a, o)
			for number := range uint32(1024) {
				for _, args := range [][]uint64{{1, 1}, {1, 2}, {2, 1}, {40, 0x5412}, {0x10000000}, {0, 0, 1}} {
					want, got := plain.run(a.audit, number, args...), reported.run(a.audit, number, args...)
					if got == returnNotify|NotifiedDenial {
						got = eperm
					}
					if got != want {
						t.Errorf("%s, %+v: system call %d: %#x, without reports %#x", name, o, number, got, want)
					}
				}
			}
		}
	}
}

func TestOptionsThatMakeNoSense(t *testing.T) {
	t.Parallel()
	for _, o := range []Options{
		{}, {Mode: 4}, {Mode: -1}, {Mode: Restricted, Judge: true}, {Mode: ProxyRouted, Judge: true},
	} {
		if b, err := Compile(o); err == nil {
			t.Errorf("%+v is compiled to %d bytes", o, len(b))
		}
	}
}

// TestSmall pins how long filters are, and how many instructions a call takes
// that has nothing to do with them.
func TestSmall(t *testing.T) {
	t.Parallel()
	for name, a := range architectures {
		for _, o := range []Options{{Mode: Restricted, Report: true}, {Mode: Open, Judge: true, Report: true}} {
			b, err := compile(a, o)
			if err != nil {
				t.Fatal(err)
			}
			if n := len(b) / 8; n > 200 {
				t.Errorf("%s, %+v: %d instructions", name, o, n)
			}
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	for b.Loop() {
		if _, err := Compile(Options{Mode: Restricted, Report: true}); err != nil {
			b.Skip(err)
		}
	}
}

package seccomp

import (
	"slices"

	"golang.org/x/net/bpf"
)

// What arguments say.
const (
	familyUnix      = 1
	familyInternet  = 2
	familyInternet6 = 10
	familyVsock     = 40

	typeMask       = 0xf // the rest are flags
	typeStream     = 1
	typeSeqPacket  = 5
	newNamespaces  = 0x7e020080 // CLONE_NEW…, all of them
	newTime        = 0x80       // which is part of a signal's number in clone
	ioctlPushInput = 0x5412     // TIOCSTI
	ioctlConsole   = 0x541c     // TIOCLINUX, which can paste
)

// body treats a call whose number is known.
func (t treatment) body(o Options) []bpf.Instruction {
	switch t {
	case allow:
		return answer(returnAllow)
	case deny:
		return answer(returnErrno | errnoPerm)
	case denyReported:
		return o.denied()
	case missing:
		return answer(returnErrno | errnoNoSys)
	case judge:
		return answer(returnNotify | NotifiedJudge)
	case socket, socketPair:
		return o.family(t == socketPair)
	case cloneFlags:
		return o.unless(0, bpf.JumpBitsNotSet, newNamespaces&^newTime)
	case unshareFlags:
		return o.unless(0, bpf.JumpBitsNotSet, newNamespaces)
	case terminal:
		return append([]bpf.Instruction{
			argument(1),
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: ioctlPushInput, SkipTrue: 2},
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: ioctlConsole, SkipTrue: 1},
			bpf.RetConstant{Val: returnAllow},
		}, o.denied()...)
	case lookUpKey:
		return append(allowNull(2), o.denied()...)
	case ownLimits:
		// Whoever has the same user can change the limits of a process, and with
		// none left it can do nothing: not judge, for one.
		return slices.Concat([]bpf.Instruction{
			argument(0),
			bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: 0, SkipTrue: 1},
			bpf.RetConstant{Val: returnAllow},
		}, allowNull(2), o.denied())
	}
	panic("seccomp: a treatment that nothing is known of")
}

// allowNull allows a call if an argument is a null pointer, and else goes on.
func allowNull(i uint32) []bpf.Instruction {
	return []bpf.Instruction{
		argument(i),
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: 0, SkipTrue: 3},
		load(offsetArgs + 8*i + 4),
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: 0, SkipTrue: 1},
		bpf.RetConstant{Val: returnAllow},
	}
}

func answer(value uint32) []bpf.Instruction {
	return []bpf.Instruction{bpf.RetConstant{Val: value}}
}

// denied denies what says something about the program.
func (o Options) denied() []bpf.Instruction {
	if o.Report {
		return answer(returnNotify | NotifiedDenial)
	}
	return answer(returnErrno | errnoPerm)
}

// unless denies a call unless a condition holds for an argument.
func (o Options) unless(i uint32, condition bpf.JumpTest, value uint32) []bpf.Instruction {
	return append([]bpf.Instruction{
		argument(i),
		bpf.JumpIf{Cond: condition, Val: value, SkipFalse: 1},
		bpf.RetConstant{Val: returnAllow},
	}, o.denied()...)
}

// family treats the making of sockets.
//
// A Unix socket that keeps messages apart without a connection can send to any
// address with calls that stay allowed, and so can one of a pair. So where it
// matters what is reached there are none.
func (o Options) family(pair bool) []bpf.Instruction {
	connected := append([]bpf.Instruction{
		argument(1),
		bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: typeMask},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: typeStream, SkipTrue: 1},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: typeSeqPacket, SkipTrue: 1},
		bpf.RetConstant{Val: returnAllow},
	}, o.denied()...)
	anyUnix := o.Mode != Restricted && !o.Judge && (o.UnixSockets || o.Mode == Open)

	start := []bpf.Instruction{argument(0)}
	switch {
	case o.Mode == Open && anyUnix:
		return o.unless(0, bpf.JumpNotEqual, familyVsock)
	case o.Mode == Open:
		start = append(start,
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: familyUnix, SkipTrue: 2 + uint8(len(o.denied()))},
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: familyVsock, SkipTrue: 1},
			bpf.RetConstant{Val: returnAllow})
		start = append(start, o.denied()...)
		return append(start, connected...)
	case o.Mode == ProxyRouted && !pair:
		start = append(start,
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: familyInternet, SkipTrue: 1},
			bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: familyInternet6, SkipTrue: 1},
			bpf.RetConstant{Val: returnAllow})
		if !o.UnixSockets {
			return append(start, o.denied()...)
		}
	default: // a pair in the mode ProxyRouted, or whatever in the mode Restricted
	}
	start = append(start, bpf.JumpIf{Cond: bpf.JumpEqual, Val: familyUnix, SkipTrue: uint8(len(o.denied()))})
	start = append(start, o.denied()...)
	if anyUnix {
		return append(start, bpf.RetConstant{Val: returnAllow})
	}
	return append(start, connected...)
}

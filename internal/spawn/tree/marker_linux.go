package tree

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// marker is an attribute of a thread by which trees can be told apart: a child
// inherits it, also across execve; other processes can read it; and hardly any
// program changes it. Marks are numbers from 1; 0 is the lack of one.
type marker struct {
	name string
	most uint32 // how many marks there are
	// traced tells that only those may read it who may trace the process.
	traced bool
	// set marks the calling thread.
	set func(mark uint32) error
	// reset gives the calling thread what it had when the marker was opened.
	reset func()
	// get returns the mark of a process.
	get func(pid int) (uint32, error)
}

// openMarker returns a marker that works here and that usable accepts, or nil.
func openMarker(usable func(*marker) bool) *marker {
	var found *marker
	offMainThread(func() {
		for _, open := range markers {
			if m := open(); m != nil && m.works() && usable(m) {
				found = m
				return
			}
		}
	})
	return found
}

// markers open the markers that there are, on a thread that is not the main
// one; they return nil if something is missing.
var markers = []func() *marker{timerSlack, timeSlice, ioHint, personality}

// offMainThread runs fn on a thread that is locked and is not the main one.
func offMainThread(fn func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if unix.Gettid() == unix.Getpid() {
			offMainThread(fn)
			return
		}
		fn()
	}()
	<-done
}

// works sets a mark on this thread and reads it. A number of a thread does for
// that of a process; other threads are like other processes.
func (m *marker) works() bool {
	if m.set(m.most) != nil {
		return false
	}
	defer m.reset()
	mark, err := m.get(unix.Gettid())
	return err == nil && mark == m.most
}

// timerSlack has marks in the time by which the kernel may delay a timer, which
// is 50 µs if nobody cares: up to 50 µs more. To read it of others takes
// CAP_SYS_NICE.
func timerSlack() *marker {
	const usual = 50_000
	before, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	if err != nil || before < usual || before >= 2*usual {
		return nil // somebody cares
	}
	set := func(ns uint32) error { return unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(ns), 0, 0, 0) }
	get := func(pid int) (uint32, error) {
		ns, err := readNumber(pid, "timerslack_ns", 10)
		if err != nil || ns <= usual || ns >= 2*usual {
			return 0, err
		}
		return uint32(ns - usual), nil
	}
	// One's own can always be read.
	if _, err := get(unix.Getpid()); err != nil {
		return nil
	}
	return &marker{
		name:  "timer slack",
		most:  usual - 1,
		set:   func(mark uint32) error { return set(usual + mark) },
		reset: func() { _ = set(uint32(before)) },
		get:   get,
	}
}

// timeSlice has marks in the time after which the scheduler looks for others to
// run, which is some milliseconds: up to 50 µs more (Linux 6.12).
func timeSlice() *marker {
	const unit = 100_000 // the usual values are multiples of it
	before, err := unix.SchedGetAttr(0, 0)
	if err != nil || !isFair(before) || before.Runtime < unit {
		return nil
	}
	usual := before.Runtime
	set := func(ns uint64) error {
		attr, err := unix.SchedGetAttr(0, 0) // the rest may have been changed
		if err != nil {
			return err
		}
		attr.Flags, attr.Runtime = 0, ns
		return unix.SchedSetAttr(0, attr, 0)
	}
	return &marker{
		name:  "time slice",
		most:  unit/2 - 1,
		set:   func(mark uint32) error { return set(usual/unit*unit + uint64(mark)) },
		reset: func() { _ = set(usual) },
		get: func(pid int) (uint32, error) {
			attr, err := unix.SchedGetAttr(pid, 0)
			if err != nil || !isFair(attr) || attr.Runtime < unit || attr.Runtime%unit >= unit/2 {
				return 0, err
			}
			return uint32(attr.Runtime % unit), nil
		},
	}
}

func isFair(attr *unix.SchedAttr) bool {
	return attr.Policy == unix.SCHED_NORMAL || attr.Policy == unix.SCHED_BATCH
}

// ioHint has marks in what an I/O priority has room for besides the priority
// (Linux 6.5): hints for devices, of which few are defined.
func ioHint() *marker {
	const (
		self       = 1 // IOPRIO_WHO_PROCESS
		none, best = 0, 2
		defined    = 7
	)
	get := func(pid int) (int, error) {
		value, _, errno := unix.Syscall(unix.SYS_IOPRIO_GET, self, uintptr(pid), 0)
		if errno != 0 {
			return 0, errno
		}
		return int(value), nil
	}
	set := func(value int) error {
		if _, _, errno := unix.Syscall(unix.SYS_IOPRIO_SET, self, 0, uintptr(value)); errno != 0 {
			return errno
		}
		return nil
	}
	before, err := get(0)
	if err != nil {
		return nil
	}
	nice, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil {
		return nil
	}
	level := before & 7
	switch before >> 13 {
	case none:
		level = (40 - nice) / 5 // what it stands for; the call returns 20 - the nice value
	case best:
	default:
		return nil
	}
	return &marker{
		name:  "I/O priority hint",
		most:  1<<10 - 1 - defined,
		set:   func(mark uint32) error { return set(best<<13 | int(mark+defined)<<3 | level) },
		reset: func() { _ = set(before) },
		get: func(pid int) (uint32, error) {
			value, err := get(pid)
			if hint := value >> 3 & (1<<10 - 1); hint > defined {
				return uint32(hint - defined), nil
			}
			return 0, err
		},
	}
}

// personality has marks in bits of the personality without a meaning. To read
// it of others takes the right to trace them. In containers it often can't be
// set.
func personality() *marker {
	const (
		query     = 0xffffffff
		low, high = 8, 28 // where the bits are
		lowMask   = 1<<9 - 1
		highMask  = 1<<3 - 1
		mask      = lowMask<<low | highMask<<high
	)
	before, _, errno := unix.Syscall(unix.SYS_PERSONALITY, query, 0, 0)
	if errno != 0 {
		return nil
	}
	set := func(value uintptr) error {
		if _, _, errno := unix.Syscall(unix.SYS_PERSONALITY, value, 0, 0); errno != 0 {
			return errno
		}
		return nil
	}
	return &marker{
		name:   "personality",
		most:   lowMask | highMask<<9,
		traced: true,
		set: func(mark uint32) error {
			bits := uintptr(mark&lowMask)<<low | uintptr(mark>>9&highMask)<<high
			return set(before&^mask | bits)
		},
		reset: func() { _ = set(before) },
		get: func(pid int) (uint32, error) {
			value, err := readNumber(pid, "personality", 16)
			return uint32(value)>>low&lowMask | uint32(value)>>high&highMask<<9, err
		},
	}
}

package helper

import (
	"encoding/binary"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What instructions of a filter look like that ask for a notification, and those
// that deny instead. Of a notification's value the kernel ignores the lower half;
// package seccomp says there what is notified.
const (
	returnCode      = 0x06 // BPF_RET with a constant
	notifyJudge     = unix.SECCOMP_RET_USER_NOTIF
	notifyDenial    = unix.SECCOMP_RET_USER_NOTIF | 1
	denyInstead     = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	instructionSize = 8
)

// installFilter makes this thread, and what it executes, run under a filter. The
// listener is where notifications come from, close-on-exec; it is -1 if there are
// none. The thread must have no_new_privs.
//
// A program that is supervised already can't be by another one. What would only
// be reported is denied without a report then; if there is something to judge
// that is an error, EBUSY.
func installFilter(filter []byte) (listener int, err error) {
	if notifies(filter, notifyJudge) || notifies(filter, notifyDenial) {
		// What has been carried out for a program must not be taken for interrupted
		// by a signal, and done again. Linux before 5.19 can't keep that from
		// happening now and then.
		const listen = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER
		listener, err = setFilter(filter, listen|unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV)
		if err == unix.EINVAL {
			listener, err = setFilter(filter, listen)
		}
		if err != unix.EBUSY || notifies(filter, notifyJudge) {
			return listener, err
		}
		filter = withoutReports(filter)
	}
	_, err = setFilter(filter, 0)
	return -1, err
}

func setFilter(filter []byte, flags uintptr) (listener int, err error) {
	if len(filter) == 0 || len(filter)%instructionSize != 0 || len(filter)/instructionSize > 1<<16-1 {
		return -1, unix.EINVAL
	}
	program := unix.SockFprog{
		Len:    uint16(len(filter) / instructionSize),
		Filter: (*unix.SockFilter)(unsafe.Pointer(unsafe.SliceData(filter))),
	}
	fd, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&program)))
	runtime.KeepAlive(filter)
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}

// notifies tells whether a filter has an instruction to notify so.
func notifies(filter []byte, value uint32) bool {
	for ; len(filter) >= instructionSize; filter = filter[instructionSize:] {
		if binary.LittleEndian.Uint16(filter) == returnCode && binary.LittleEndian.Uint32(filter[4:]) == value {
			return true
		}
	}
	return false
}

// withoutReports returns the filter with denials in place of reported ones.
func withoutReports(filter []byte) []byte {
	plain := append([]byte(nil), filter...)
	for rest := plain; len(rest) >= instructionSize; rest = rest[instructionSize:] {
		if binary.LittleEndian.Uint16(rest) == returnCode && binary.LittleEndian.Uint32(rest[4:]) == notifyDenial {
			binary.LittleEndian.PutUint32(rest[4:], denyInstead)
		}
	}
	return plain
}

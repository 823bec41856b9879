package helper

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// notification is struct seccomp_notif: a system call that waits for an answer.
type notification struct {
	ID          uint64
	PID         uint32 // of the thread, as this process sees it
	Flags       uint32
	Number      int32
	Arch        uint32
	Instruction uint64
	Args        [6]uint64
}

// notificationAnswer is struct seccomp_notif_resp.
type notificationAnswer struct {
	ID    uint64
	Value int64
	Error int32
	Flags uint32
}

// The second half leaves room for what newer kernels may add to the struct.
type notificationBuffer struct {
	notification
	_ [176]byte
}

func receiveNotification(listener int) (*notification, error) {
	b := new(notificationBuffer)
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(b)))
	if errno != 0 {
		return nil, errno
	}
	return &b.notification, nil
}

// answer makes a system call return an error, or 0 if there is none. The caller
// may be gone.
func (s *supervisor) answer(id uint64, errno unix.Errno) {
	a := notificationAnswer{ID: id, Error: -int32(errno)}
	_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(s.listener), unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&a)))
}

// isWaiting tells whether the caller of a notification still waits in it. If it
// does after something of it was looked at, that was the caller's, and not of a
// process that has its id by now.
func (s *supervisor) isWaiting(id uint64) bool {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(s.listener), unix.SECCOMP_IOCTL_NOTIF_ID_VALID, uintptr(unsafe.Pointer(&id)))
	return errno == 0
}

// memory reads from the memory of the caller.
func (n *notification) memory(address uint64, length int) ([]byte, unix.Errno) {
	b := make([]byte, length)
	if length == 0 {
		return b, 0
	}
	local := []unix.Iovec{{Base: &b[0]}}
	local[0].SetLen(length)
	got, err := unix.ProcessVMReadv(int(n.PID), local, []unix.RemoteIovec{{Base: uintptr(address), Len: length}}, 0)
	switch {
	case err != nil:
		return nil, errnoOf(err)
	case got < length:
		return nil, unix.EFAULT
	}
	return b, 0
}

// maxAddress is the length of the longest address of a socket.
const maxAddress = 128

// address reads the address of a socket that stands in the caller's memory.
func (n *notification) address(at, length uint64) ([]byte, unix.Errno) {
	if size := int32(length); size >= 0 && size <= maxAddress {
		return n.memory(at, int(size))
	}
	return nil, unix.EINVAL
}

package helper

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// itself is this program's own file, also when another has been put in its
// place since.
const itself = "/proc/self/exe"

var memory inMemory

// program returns the file to execute.
func program() (string, error) {
	if embedded == "" && !isHooked.Load() {
		return "", ErrNoHelper
	}
	if embedded == "" {
		return itself, nil
	}
	path, err := memory.path(embedded)
	forget(embedded)
	if err != nil && isHooked.Load() {
		return itself, nil // some systems let nobody execute memory
	}
	return path, err
}

// inMemory is a program in a file that has no name.
type inMemory struct {
	mu   sync.Mutex
	file *os.File // guarded by mu; open as long as this program runs
}

// path returns where the program can be executed from. A failure is not
// remembered: the next call tries again.
func (m *inMemory) path(binary string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.file == nil {
		file, err := seal(binary)
		if err != nil {
			return "", fmt.Errorf("writing the helper to memory: %w", err)
		}
		m.file = file
	}
	return "/proc/self/fd/" + strconv.Itoa(int(m.file.Fd())), nil
}

// Raise moves a descriptor, which it takes over, above that of the helper's file.
// A fork by package syscall puts what it needs itself right above the highest
// one in Files, whatever is there; and moves those that are lower than their
// places.
func Raise(fd int) (int, error) {
	defer unix.Close(fd)
	above := highestPlace
	memory.mu.Lock()
	if memory.file != nil {
		above = int(memory.file.Fd()) + 1
	}
	memory.mu.Unlock()
	raised, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, above)
	return raised, os.NewSyscallError("fcntl", err)
}

// highestPlace is no lower than the place of any descriptor in the helper.
const highestPlace = 8

// forget gives up the memory that a part of this program's own file takes. It can
// still be read. It must not be called for anything that is not in the file.
func forget(part string) {
	page := uintptr(os.Getpagesize())
	begin := uintptr(unsafe.Pointer(unsafe.StringData(part)))
	from := (begin + page - 1) / page * page
	to := (begin + uintptr(len(part))) / page * page
	if from < to {
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, from, to-from, unix.MADV_DONTNEED)
	}
}

// lowest is the least number that the descriptor may have. A fork overwrites
// the lowest ones with the child's files before it executes this one.
const lowest = 64

// seal writes a program to memory such that nobody can change it any more, not
// even who has the descriptor.
func seal(binary string) (*os.File, error) {
	const flags = unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	low, err := unix.MemfdCreate(Name, flags|unix.MFD_EXEC)
	if err == unix.EINVAL { // before Linux 6.3 all of them are executable
		low, err = unix.MemfdCreate(Name, flags)
	}
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	fd, err := unix.FcntlInt(uintptr(low), unix.F_DUPFD_CLOEXEC, lowest)
	unix.Close(low)
	if err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	file := os.NewFile(uintptr(fd), Name)
	const seals = unix.F_SEAL_WRITE | unix.F_SEAL_GROW | unix.F_SEAL_SHRINK | unix.F_SEAL_SEAL
	if _, err = file.WriteString(binary); err == nil {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

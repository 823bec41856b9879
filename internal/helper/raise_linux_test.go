package helper

import (
	"os"
	"strconv"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// A fork needs a descriptor of its own, for which it takes the number above the
// highest in Files: the helper's file had that number, once there were as many
// descriptors, and could not be executed.
func TestRaise(t *testing.T) { // by itself: it takes a certain descriptor
	binary, err := os.ReadFile(itself)
	if err != nil {
		t.Fatal(err)
	}
	memory.mu.Lock()
	if memory.file == nil {
		if memory.file, err = seal(string(binary)); err != nil {
			t.Fatal(err)
		}
	}
	file := int(memory.file.Fd())
	memory.mu.Unlock()
	null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	raised, err := Raise(null)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(raised)
	if raised <= file {
		t.Errorf("descriptor %d, want one above %d", raised, file)
	}
	// The highest of the others is right below the file.
	below := file - 1
	if err := unix.Dup3(raised, below, unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	defer unix.Close(below)
	pid, err := syscall.ForkExec("/proc/self/fd/"+strconv.Itoa(file), []string{Name},
		&syscall.ProcAttr{Files: []uintptr{uintptr(below), uintptr(below), uintptr(below), uintptr(raised)}})
	if err != nil {
		t.Fatal(err)
	}
	var status syscall.WaitStatus
	for {
		if _, err = syscall.Wait4(pid, &status, 0, nil); err != syscall.EINTR {
			break
		}
	}
	if err != nil || status.ExitStatus() != exitUsage {
		t.Errorf("exit status %d, %v; want %d", status.ExitStatus(), err, exitUsage)
	}
}

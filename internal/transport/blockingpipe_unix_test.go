//go:build unix

package transport

import (
	"os"
	"syscall"
	"testing"
)

// blockingPipe returns a pipe as it is inherited from most parents.
func blockingPipe(t *testing.T) (r, w *os.File) {
	var fds [2]int
	if err := syscall.Pipe(fds[:]); err != nil {
		t.Fatal(err)
	}
	return os.NewFile(uintptr(fds[0]), "blocking"), os.NewFile(uintptr(fds[1]), "blocking")
}

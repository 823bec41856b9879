//go:build unix

package spawn

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// resize sets the size of a terminal.
func resize(master *os.File, size Size) error {
	conn, err := master.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = conn.Control(func(fd uintptr) {
		failed = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: size.Rows, Col: size.Cols})
	})
	if err == nil {
		err = failed
	}
	if err != nil {
		return fmt.Errorf("resizing the terminal: %w", asOSError(err))
	}
	return nil
}

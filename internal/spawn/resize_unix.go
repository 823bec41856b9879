//go:build unix

package spawn

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// resize sets the size of a terminal, unless it has been closed.
func resize(master *os.File, size Size) error {
	conn, err := master.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = conn.Control(func(fd uintptr) {
		failed = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: size.Rows, Col: size.Cols})
	})
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	if err == nil {
		err = failed
	}
	if err != nil {
		return fmt.Errorf("resizing the terminal: %w", asOSError(err))
	}
	return nil
}

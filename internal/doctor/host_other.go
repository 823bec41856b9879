//go:build unix && !linux

package doctor

import (
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// system is empty: there is nothing that only this system has.
type system struct{}

func newHost() *host {
	return &host{
		uid:          os.Geteuid(),
		temp:         os.TempDir(),
		env:          os.Getenv,
		openTerminal: openTerminal,
		openTrees:    openTrees,
		openTemp:     openTemp,
		listen:       listen,
		free:         free,
		descriptors:  descriptors,
	}
}

// probes are what is looked at, in the order of the report.
func probes() []probe {
	return []probe{
		{"terminals", Processes, true, terminalsPurpose, (*host).terminals},
		{"trees", Processes, true, treesPurpose, (*host).trees},
		{"descriptors", Room, true, descriptorsPurpose, (*host).descriptorRoom},
		{"spill-folder", Folders, true, spillPurpose, (*host).spillFolder},
		{"control-folder", Folders, true, controlPurpose, (*host).controlFolder},
	}
}

const terminalsPurpose = "for commands with a terminal (airlock run -t, tty of process/start)"

// strongerTrees is empty: the system has no other means.
const strongerTrees = ""

// terminals tells whether terminals can be opened.
func (h *host) terminals() result {
	if err := h.openTerminal(); err != nil {
		return result{
			status: Missing, found: "no terminal can be opened: " + err.Error(),
			mend: "Close terminals that nobody uses, or allow more: `sysctl -w kern.tty.ptmx_max=999`.",
		}
	}
	return result{status: OK, found: "a terminal can be opened, and passes on what is written"}
}

// openTerminal implements host.
func openTerminal() error {
	master, slave, err := pty.Open()
	if err != nil {
		return err
	}
	defer master.Close()
	defer slave.Close()
	if _, err := slave.WriteString("x"); err != nil {
		return err
	}
	var b [8]byte
	n, err := master.Read(b[:])
	if err != nil {
		return err
	}
	if got := string(b[:n]); got != "x" {
		return fmt.Errorf("the terminal passes on %q for %q", got, "x")
	}
	return nil
}

// openNameless does nothing: files without a name are a matter of Linux.
func openNameless(string) (*os.File, error) { return nil, errors.ErrUnsupported }

// reserve does nothing; the output log does not try either.
func reserve(*os.File) bool { return true }

func free(folder string) (uint64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(folder, &s); err != nil {
		return 0, &os.PathError{Op: "statfs", Path: folder, Err: err}
	}
	return uint64(s.Bavail) * uint64(s.Bsize), nil //nolint:unconvert // their types differ between systems
}

// checkPeer does nothing: how to ask who has connected differs between systems.
func checkPeer(*net.UnixConn) error { return nil }

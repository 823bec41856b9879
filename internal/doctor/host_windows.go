package doctor

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// system is empty: there is nothing that only this system has.
type system struct{}

func newHost() *host {
	return &host{
		uid:          os.Geteuid(),
		temp:         os.TempDir(),
		env:          os.Getenv,
		openTerminal: func() error { return errNoTerminals },
		openTrees:    openTrees,
		openTemp:     openTemp,
		free:         free,
	}
}

// probes are what is looked at, in the order of the report. There are no
// terminals yet, so no default depends on them.
func probes() []probe {
	return []probe{
		{"terminals", Processes, false, terminalsPurpose, (*host).terminals},
		{"trees", Processes, true, treesPurpose, (*host).trees},
		{"spill-folder", Folders, true, spillPurpose, (*host).spillFolder},
	}
}

const terminalsPurpose = "for commands with a terminal (airlock run -t, tty of process/start)"

// strongerTrees is empty: there is nothing stronger than a job object.
const strongerTrees = ""

var errNoTerminals = errors.New("airlock does not support terminals on Windows yet")

func (h *host) terminals() result {
	if err := h.openTerminal(); err != nil {
		return result{status: Missing, found: err.Error(), mend: "Run commands without a terminal."}
	}
	return result{status: OK, found: "a terminal can be opened"}
}

// openTemp implements host. Windows has no files without a name; the output log
// has the system remove them.
func openTemp(folder string) (tempFile, error) {
	file, err := os.CreateTemp(folder, "airlock-")
	if err != nil {
		return tempFile{}, err
	}
	_, err = file.WriteString("airlock")
	err = errors.Join(err, file.Close(), os.Remove(file.Name()))
	return tempFile{reserved: true}, err
}

func free(folder string) (bytes uint64, err error) {
	path, err := windows.UTF16PtrFromString(folder)
	if err != nil {
		return 0, err
	}
	if err := windows.GetDiskFreeSpaceEx(path, &bytes, nil, nil); err != nil {
		return 0, &os.PathError{Op: "GetDiskFreeSpaceEx", Path: folder, Err: err}
	}
	return bytes, nil
}

func isReadOnly(err error) bool { return errors.Is(err, windows.ERROR_WRITE_PROTECT) }

func isFull(err error) bool { return errors.Is(err, windows.ERROR_DISK_FULL) }

package outlog

import (
	"crypto/rand"
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"
)

// openTemp makes a file that the system removes with its last handle, however
// the program ends.
func openTemp(dir string) (file, error) {
	name := filepath.Join(dir, "airlock-"+rand.Text())
	const flags = os.O_RDWR | os.O_CREATE | os.O_EXCL | windows.O_FILE_FLAG_DELETE_ON_CLOSE
	f, err := os.OpenFile(name, flags, 0o600)
	if err != nil {
		return nil, err
	}
	return &tempFile{File: f}, nil
}

// fullErrors are those of a file that can't grow, but may still be written to.
var fullErrors = []error{
	windows.ERROR_DISK_FULL, windows.ERROR_HANDLE_DISK_FULL, windows.ERROR_DISK_QUOTA_EXCEEDED,
}

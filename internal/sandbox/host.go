package sandbox

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/airlock-exec/airlock/internal/spawn/point"
)

// Host is the file system that a policy is about.
type Host interface {
	Lstat(path string) (fs.FileInfo, error)
	Readlink(path string) (string, error)
	// ReadDir calls each for the entries of a directory, in no order, until that
	// returns an error, which it returns then. It waits for nothing and follows no
	// link: what has taken the directory's place meanwhile is an error.
	ReadDir(path string, each func(fs.DirEntry) error) error
	// ReadFile returns the beginning of a regular file. It waits for nothing.
	ReadFile(path string, most int) ([]byte, error)
}

// OS returns the host that this program runs on.
func OS() Host { return system{} }

type system struct{}

// Lstat says of a mount point that a sandbox has made that nothing is there: so
// whoever needs one there, too, holds it, and it stays until the last one has ended.
func (system) Lstat(path string) (fs.FileInfo, error) {
	info, err := os.Lstat(path)
	if err == nil && point.IsMark(info) {
		return nil, &fs.PathError{Op: "lstat", Path: path, Err: fs.ErrNotExist}
	}
	return info, err
}

func (system) Readlink(path string) (string, error) { return os.Readlink(path) }

// entriesAtOnce is how many entries of a directory are held at the same time.
const entriesAtOnce = 1024

func (system) ReadDir(path string, each func(fs.DirEntry) error) error {
	dir, err := openDirectory(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	for {
		entries, err := dir.ReadDir(entriesAtOnce)
		for _, e := range entries {
			if err := each(e); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

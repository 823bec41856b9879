//go:build unix

package spawn

import (
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// defaultPath is searched when the environment has no PATH.
const defaultPath = "/usr/local/bin:/bin:/usr/bin"

// search calls exec with each path that program may mean, until it succeeds or
// fails in a way that ends the search, as execvp does. Relative paths are meant
// to be relative to dir; exec changes to it first.
func search(program, dir string, env []string, exec func(path string) error) error {
	if strings.Contains(program, "/") {
		return exec(program)
	}
	// To find out beforehand that a file does not exist is cheaper than to
	// fork for nothing. But a bad directory must not look like a missing
	// program.
	if err := mayExecute(".", dir); err != nil {
		return err
	}
	var denied error
	for folder := range strings.SplitSeq(searchPath(env), ":") {
		if folder == "" {
			folder = "."
		}
		path := folder + "/" + program
		err := mayExecute(path, dir)
		if err == nil {
			err = exec(path)
		}
		switch err {
		case nil:
			return nil
		case syscall.ENOENT, syscall.ENOTDIR, syscall.ESTALE, syscall.ENODEV, syscall.ETIMEDOUT:
		case syscall.EACCES:
			denied = err
		default:
			return err
		}
	}
	if denied != nil {
		return denied
	}
	return syscall.ENOENT
}

// searchPath returns the PATH that a program would find in env: the first.
func searchPath(env []string) string {
	for _, entry := range env {
		if path, ok := strings.CutPrefix(entry, "PATH="); ok {
			return path
		}
	}
	return defaultPath
}

// mayExecute tells whether path, relative to dir, is there and may be executed
// (a folder: entered).
func mayExecute(path, dir string) error {
	if !strings.HasPrefix(path, "/") && dir != "" {
		path = dir + "/" + path
	}
	return unix.Faccessat(unix.AT_FDCWD, path, unix.X_OK, unix.AT_EACCESS)
}

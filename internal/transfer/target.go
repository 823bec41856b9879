package transfer

import (
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Save lets a file here, which may not be there yet, hold what is written by a
// function: all of it, or as it was before if that fails. A file that is there keeps
// its permission bits.
func Save(local string, write func(io.Writer) error) error {
	root, name, err := openParent(local)
	if err != nil {
		return err
	}
	defer root.Close()
	t, err := newTarget(root, name)
	if err != nil {
		return err
	}
	never := func(error) bool { return false }
	return t.fill(partName(name, rand.Text(), -1, 0), never, func(out *os.File) error { return write(out) })
}

// openParent opens the directory that a file is in. A symbolic link is followed, so
// that it stays one.
func openParent(local string) (root *os.Root, name string, err error) {
	if target, err := filepath.EvalSymlinks(local); err == nil {
		local = target
	}
	root, err = os.OpenRoot(filepath.Dir(local))
	return root, filepath.Base(local), err
}

// target is where a file is written to, below a directory.
type target struct {
	root     *os.Root
	name     string
	mode     fs.FileMode
	replaces bool // a file, whose mode that is
	special  bool // it is a device, say, which is written to in place
}

// newTarget looks what is there. It must be no directory.
func newTarget(root *os.Root, name string) (*target, error) {
	t := &target{root: root, name: name, mode: 0o666}
	there, err := root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, about(err, t.path())
	case there.IsDir():
		return nil, &fs.PathError{Op: "open", Path: t.path(), Err: syscall.EISDIR}
	case there.Mode()&fs.ModeSymlink != 0: // in a tree, which the file takes the place of
	case there.Mode().IsRegular():
		t.mode, t.replaces = there.Mode().Perm(), true
	default:
		t.special = true
	}
	return t, nil
}

// path returns the whole path of the file.
func (t *target) path() string { return filepath.Join(t.root.Name(), t.name) }

// fill has the part filled, which then takes the name of the file. If something
// fails the part is removed, unless it is to be kept.
func (t *target) fill(part string, keeps func(error) bool, fill func(*os.File) error) error {
	part = filepath.Join(filepath.Dir(t.name), part)
	out, err := t.open(part)
	if err != nil {
		return about(err, t.path())
	}
	if t.replaces {
		err = out.Chmod(t.mode)
	}
	if err == nil {
		err = fill(out)
	}
	if wrong, ok := errors.AsType[*fs.PathError](err); ok && wrong.Path == out.Name() {
		err = about(err, t.path())
	}
	if closeErr := out.Close(); err == nil {
		err = closeErr
	}
	if t.special {
		return err
	}
	if err == nil {
		err = about(t.root.Rename(part, t.name), t.path())
	}
	if err != nil && !keeps(err) {
		_ = t.root.Remove(part)
	}
	return err
}

func (t *target) open(part string) (*os.File, error) {
	if t.special {
		return t.root.OpenFile(t.name, os.O_WRONLY, 0)
	}
	there, err := t.root.Lstat(part)
	if err == nil && !there.Mode().IsRegular() { // it is none of ours
		err = t.root.RemoveAll(part)
		there = nil
	}
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, err
	case there == nil:
		return t.root.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, t.mode)
	}
	out, err := t.root.OpenFile(part, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	opened, err := out.Stat()
	if err == nil && !os.SameFile(there, opened) {
		err = &fs.PathError{Op: "open", Path: part, Err: errors.New("it has been replaced meanwhile")}
	}
	if err != nil {
		out.Close()
		return nil, err
	}
	return out, nil
}

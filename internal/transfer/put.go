package transfer

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/airlock-exec/airlock/client"
	"github.com/airlock-exec/airlock/protocol"
)

const (
	// smallBytes is up to where a file travels in one message.
	smallBytes = 1 << 20
	// streamBytes is how much is read at a time.
	streamBytes = 256 << 10
	// openBytes is how much may have been given to the executor and not be
	// confirmed. Blocks are not written in their order, so that a part may have
	// holes in what was under way when it was left: its last unsureBytes.
	openBytes   = 8 << 20
	unsureBytes = openBytes + streamBytes
)

// Put copies a file from here to a path that is no directory. Its permission bits
// are those of the file, if the executor can set them.
func (m *Mover) Put(ctx context.Context, local string, destination protocol.PathURI) error {
	file, err := os.Open(local)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return &fs.PathError{Op: "put", Path: local, Err: errNotRegular(info.IsDir())}
	}
	source, err := filepath.Abs(local)
	if err != nil {
		return err
	}
	u := &upload{Mover: m, source: file, size: info.Size(), mode: info.Mode().Perm(), isFile: true}
	u.identity = func(name string) string {
		return partName(name, source, info.Size(), info.ModTime().UnixNano())
	}
	return u.to(ctx, destination)
}

// PutStream copies what a reader has, to its end, to a path that is no directory.
// The read that is under way when the context ends is not waited for.
func (m *Mover) PutStream(ctx context.Context, r io.Reader, destination protocol.PathURI) error {
	u := &upload{Mover: m, source: newInterruptible(ctx, r), size: -1}
	u.identity = func(name string) string { return partName(name, rand.Text(), -1, 0) }
	return u.to(ctx, destination)
}

// errChanged is about a source that is shorter or longer than it was.
var errChanged = errors.New("the file has been changed while it was copied")

func errNotRegular(isDirectory bool) error {
	if isDirectory {
		return syscall.EISDIR
	}
	return ErrLeftOut
}

// upload is the transfer of one file from here.
type upload struct {
	*Mover
	source   io.Reader
	isFile   bool  // source can be sought in, and mode is known
	size     int64 // -1: not known
	mode     fs.FileMode
	identity func(name string) string // the name of the part
}

// to moves the file to a path.
func (u *upload) to(ctx context.Context, destination protocol.PathURI) error {
	there, err := u.Files.Stat(ctx, destination)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case there.IsDir():
		return &fs.PathError{Op: "put", Path: destination.String(), Err: syscall.EISDIR}
	case !there.Metadata().IsFile:
		return u.inPlace(ctx, destination)
	case there.Metadata().IsSymlink: // it stays one
		if destination, err = u.Files.Canonicalize(ctx, destination); err != nil {
			return err
		}
	}
	directory, ok := destination.Parent()
	if !ok || !u.offers(protocol.FeatureFSRename) {
		return u.inPlace(ctx, destination)
	}
	part, err := directory.Join(u.identity(destination.Base()))
	if err != nil {
		return u.inPlace(ctx, destination)
	}
	err = u.fill(ctx, part)
	if errors.Is(err, fs.ErrPermission) && there != nil {
		return u.inPlace(ctx, destination) // nothing can be made beside it
	}
	if err == nil {
		err = u.finish(ctx, part, destination)
	}
	if err != nil && !u.keeps(ctx, err) {
		u.remove(ctx, part)
	}
	return about(err, destination.String())
}

// fill writes the part, from where it ends.
func (u *upload) fill(ctx context.Context, part protocol.PathURI) error {
	offset := int64(0)
	there, err := u.Files.Stat(ctx, part)
	switch {
	case err != nil || there.Metadata().IsSymlink || !there.Metadata().IsFile:
		u.remove(ctx, part) // if there is anything, it is none of ours
	case u.isFile && u.offers(protocol.FeatureFSOpenKeep):
		offset = max(0, min(there.Size(), u.size)-unsureBytes)
	}
	if u.size >= 0 && u.size <= smallBytes && !u.isSecret() {
		return u.whole(ctx, part)
	}
	if offset == 0 {
		return u.stream(ctx, part, u.Files.Create)
	}
	if _, err := u.source.(io.Seeker).Seek(offset, io.SeekStart); err != nil {
		return err
	}
	u.moved(int(offset))
	return u.stream(ctx, part, func(ctx context.Context, part protocol.PathURI) (*client.FileWriter, error) {
		return u.Files.Update(ctx, part, offset)
	})
}

// isSecret tells whether others may not read the file. It must never be there with
// other permission bits.
func (u *upload) isSecret() bool { return u.isFile && u.mode&0o044 != 0o044 }

// whole writes a small file at once.
func (u *upload) whole(ctx context.Context, path protocol.PathURI) error {
	data, err := io.ReadAll(io.LimitReader(u.source, smallBytes))
	if err != nil {
		return err
	}
	if err := u.Files.WriteFile(ctx, path, data); err != nil {
		return err
	}
	u.moved(len(data))
	if int64(len(data)) != u.size {
		return errChanged
	}
	return nil
}

// stream writes what the source has left.
func (u *upload) stream(ctx context.Context, path protocol.PathURI, open func(context.Context, protocol.PathURI) (*client.FileWriter, error)) error {
	w, err := open(ctx, path)
	if err != nil {
		return err
	}
	// Before there is anything in it that others must not read. What can't be
	// written is not read from either, so the owner may write.
	err = u.chmod(ctx, path, u.mode|0o200)
	if err == nil {
		err = u.copyTo(w)
	}
	if closeErr := w.Close(); err == nil || errors.Is(err, closeErr) {
		err = closeErr
	}
	return err
}

// copyTo writes what the source has left, and never much more than has been
// confirmed.
func (u *upload) copyTo(w *client.FileWriter) error {
	buffer := make([]byte, streamBytes)
	given := w.Confirmed()
	for {
		n, err := u.source.Read(buffer)
		if _, err := w.Write(buffer[:n]); err != nil {
			return err
		}
		u.moved(n)
		given += int64(n)
		switch {
		case err == io.EOF && u.size > 0 && given != u.size:
			return errChanged
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case given-w.Confirmed() > openBytes:
			if err := w.Flush(); err != nil {
				return err
			}
		}
	}
}

// inPlace writes over what is there.
func (u *upload) inPlace(ctx context.Context, destination protocol.PathURI) error {
	if err := u.stream(ctx, destination, u.Files.Create); err != nil {
		return err
	}
	return u.chmod(ctx, destination, u.mode)
}

// finish lets the part become the file.
func (u *upload) finish(ctx context.Context, part, destination protocol.PathURI) error {
	if err := u.chmod(ctx, part, u.mode); err != nil {
		return err
	}
	return u.Files.Rename(ctx, part, destination, true)
}

// chmod gives what is written the permission bits of its source, if it has any.
func (u *upload) chmod(ctx context.Context, path protocol.PathURI, mode fs.FileMode) error {
	if !u.isFile || !u.offers(protocol.FeatureFSChmod) {
		return nil
	}
	err := u.Files.Chmod(ctx, path, mode)
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrPermission) {
		return nil // the file system has none, or the file is somebody else's
	}
	return err
}

// remove removes a part, also when the transfer has been ended.
func (u *upload) remove(ctx context.Context, part protocol.PathURI) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
	defer cancel()
	_ = u.Files.RemoveAll(ctx, part) // no error if it is not there
}

package files

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/airlock-exec/airlock/internal/files/fault"
	"github.com/airlock-exec/airlock/internal/sandbox"
	"github.com/airlock-exec/airlock/protocol"
)

// Copy copies a file, a symbolic link, or a directory with all that is in it. What
// has been copied stays if something goes wrong.
func (*Files) Copy(ctx context.Context, p *protocol.CopyParams) (*protocol.CopyResult, error) {
	source, err := path(p.SourcePath, p.Sandbox, sandbox.Read|sandbox.Write)
	if err != nil {
		return nil, err
	}
	destination, err := fault.Native(p.DestinationPath)
	if err != nil {
		return nil, err
	}
	st, err := (*dir)(nil).status(source, false)
	switch {
	case err != nil:
		return nil, err
	case st.mode.IsDir() && !p.Recursive:
		return nil, protocol.Errorf(protocol.CodeInvalidRequest,
			"fs/copy requires recursive: true when sourcePath is a directory")
	case st.mode.IsDir():
		err = copyTree(ctx, source, destination)
	case st.mode.IsRegular():
		err = copyFile(ctx, nil, source, nil, destination)
	case st.isLink():
		err = copyLink(nil, source, nil, destination)
	default:
		err = errKind()
	}
	if err != nil {
		return nil, err
	}
	return &protocol.CopyResult{}, nil
}

func errKind() error {
	return protocol.Errorf(protocol.CodeInvalidRequest,
		"fs/copy only supports regular files, directories, and symlinks")
}

func copyLink(from *dir, name string, to *dir, newName string) error {
	target, err := from.readlink(name)
	if err != nil {
		return err
	}
	return to.symlink(target, newName)
}

// copiedAtOnce is how much is copied before it is looked whether that is still
// wanted.
const copiedAtOnce = 16 << 20

// copyFile copies the data and the permissions of a regular file. A file that is
// copied onto itself, by whatever name, stays as it is.
func copyFile(ctx context.Context, from *dir, name string, to *dir, newName string) error {
	source, err := from.open(name, openRead|noFollow, 0)
	if err != nil {
		return err
	}
	defer source.Close()
	info, err := source.Stat()
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return errKind() // it was one
	}
	destination, err := to.openFile(newName, openWrite, info.Mode().Perm())
	if err != nil {
		return err
	}
	err = fill(ctx, destination, source, info)
	return errors.Join(err, destination.Close())
}

// fill makes a file a copy of another one.
func fill(ctx context.Context, destination, source *os.File, info fs.FileInfo) error {
	is, err := destination.Stat()
	switch {
	case err != nil:
		return err
	case !is.Mode().IsRegular():
		return errNotFile(destination.Name())
	case os.SameFile(is, info):
		return nil
	}
	if err := destination.Truncate(0); err != nil {
		return err
	}
	if err := transfer(ctx, destination, source, info.Size()); err != nil {
		return err
	}
	return destination.Chmod(info.Mode().Perm())
}

// transfer copies the data of a file of some size.
func transfer(ctx context.Context, destination, source *os.File, size int64) error {
	if size == 0 {
		return transferPieces(ctx, destination, source)
	}
	for {
		switch _, err := io.CopyN(destination, source, copiedAtOnce); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		}
	}
}

// transferPieces copies what is in a file that says it were empty. Some of these
// would let others wait for more to come.
func transferPieces(ctx context.Context, destination, source *os.File) error {
	piece := pieces.Get().(*[pieceBytes]byte)
	defer pieces.Put(piece)
	for at := int64(0); ctx.Err() == nil; {
		n, err := source.ReadAt(piece[:], at)
		if _, err := destination.WriteAt(piece[:n], at); err != nil {
			return err
		}
		at += int64(n)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
	return ctx.Err()
}

func errIntoItself() error {
	return protocol.Errorf(protocol.CodeInvalidRequest,
		"fs/copy cannot copy a directory to itself or one of its descendants")
}

// checkApart returns an error if the destination is the source or would be in it.
func checkApart(source, destination string) error {
	source, err := realPath(source)
	if err != nil {
		return err
	}
	destination, err = realPlace(destination)
	if err != nil {
		return err
	}
	const separator = string(filepath.Separator)
	if destination == source || strings.HasPrefix(destination, strings.TrimSuffix(source, separator)+separator) {
		return errIntoItself()
	}
	return nil
}

// realPlace is [realPath] for what need not exist.
func realPlace(path string) (string, error) {
	for missing := ""; ; {
		found, err := realPath(path)
		parent := filepath.Dir(path)
		switch {
		case err == nil:
			return filepath.Join(found, missing), nil
		case !errors.Is(err, fs.ErrNotExist) || parent == path:
			return "", err
		}
		path, missing = parent, filepath.Join(filepath.Base(path), missing)
	}
}

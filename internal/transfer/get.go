package transfer

import (
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/airlock-exec/airlock/client"
	"github.com/airlock-exec/airlock/protocol"
)

// Get copies a file to a path here that is no directory. One that is there keeps its
// permission bits.
func (m *Mover) Get(ctx context.Context, source protocol.PathURI, local string) error {
	root, name, err := openParent(local)
	if err != nil {
		return err
	}
	defer root.Close()
	return m.getInto(ctx, source, root, name)
}

// GetStream copies a file to a writer.
func (m *Mover) GetStream(ctx context.Context, source protocol.PathURI, w io.Writer) error {
	file, err := m.Files.Open(ctx, source)
	if err != nil {
		return err
	}
	defer file.Close()
	return m.copyTo(w, file)
}

// getInto copies a file to a name below a directory.
func (m *Mover) getInto(ctx context.Context, source protocol.PathURI, root *os.Root, name string) error {
	file, err := m.Files.Open(ctx, source)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	t, err := newTarget(root, name)
	if err != nil {
		return err
	}
	part := partName(filepath.Base(name), source.String(), info.Size(), info.ModTime().UnixNano())
	keeps := func(err error) bool { return m.keeps(ctx, err) }
	return t.fill(part, keeps, func(out *os.File) error {
		if !t.special {
			if err := m.resume(out, file, info.Size()); err != nil {
				return err
			}
		}
		if err := m.copyTo(out, file); err != nil || t.special || info.Size() == 0 {
			return err // files of the system have any size
		}
		there, err := out.Stat()
		if err == nil && there.Size() != info.Size() {
			err = &fs.PathError{Op: "get", Path: source.String(), Err: errChanged}
		}
		return err
	})
}

// resume lets a part and its source go on where the part ends.
func (m *Mover) resume(part *os.File, source *client.File, size int64) error {
	there, err := part.Stat()
	if err != nil {
		return err
	}
	offset := there.Size()
	if offset > size || size == 0 { // which may have any, as files of the system do
		offset = 0
		if err := part.Truncate(0); err != nil {
			return err
		}
	}
	if offset == 0 {
		return nil
	}
	m.moved(int(offset))
	if _, err := part.Seek(offset, io.SeekStart); err != nil {
		return err
	}
	_, err = source.Seek(offset, io.SeekStart)
	return err
}

func (m *Mover) copyTo(out io.Writer, source *client.File) error {
	_, err := source.WriteTo(&countedWriter{out, m.moved})
	return err
}

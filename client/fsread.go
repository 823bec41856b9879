package client

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"sync"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
)

// File is a file that is read. It implements [io.Reader], [io.ReaderAt],
// [io.Seeker], [io.WriterTo], [io.Closer] and [fs.File].
//
// Read and WriteTo read ahead, up to 4 MiB; ReadAt reads what it is asked for, and
// may be called by several goroutines at the same time.
//
// The executor closes the file when the connection is lost. It is then opened anew,
// and reading goes on if size and time of modification are what they were; if
// not, the error wraps [ErrFileChanged].
type File struct {
	path protocol.PathURI
	info *FileInfo
	// fetch reads up to a block.
	fetch func(offset int64, size int) (*protocol.ReadBlockResult, error)
	// stop ends what is under way, finish closes the file.
	stop, finish func()
	fail         func(op string, err error) error

	mu     sync.Mutex // held while something is read in order
	offset int64
	ahead  readahead

	closing sync.Once
	closed  chan struct{}
}

// Open opens a file to be read. It must be a regular one. The context bounds all
// that is done with it.
func (f *Files) Open(ctx context.Context, path protocol.PathURI) (*File, error) {
	info, err := f.Stat(ctx, path)
	if err != nil {
		return nil, err
	}
	return f.open(ctx, path, info)
}

// open opens a file whose metadata was asked for before: if it is changed or
// replaced from then on, that is noticed when it is opened anew.
func (f *Files) open(ctx context.Context, path protocol.PathURI, info *FileInfo) (*File, error) {
	o := newOpened(f.executor, protocol.OpenFileParams{Path: path})
	o.check = func(ctx context.Context) error {
		now, err := f.Stat(ctx, path)
		if err == nil && !now.isSame(info) || errors.Is(err, fs.ErrNotExist) {
			err = ErrFileChanged
		}
		return err
	}
	if _, err := o.handle(ctx, nil); err != nil {
		return nil, f.pathError("open", path, err)
	}
	using, stop := context.WithCancelCause(ctx)
	file := &File{
		path: path, info: info, closed: make(chan struct{}),
		fetch: func(offset int64, size int) (*protocol.ReadBlockResult, error) {
			return askFile[protocol.ReadBlockResult](using, o, protocol.MethodReadBlock, func(id string) any {
				return &protocol.ReadBlockParams{HandleID: id, Offset: uint64(offset), Len: uint64(size)}
			})
		},
		stop:   func() { stop(fs.ErrClosed) },
		finish: func() { o.close(ctx) },
		fail:   func(op string, err error) error { return f.pathError(op, path, err) },
	}
	file.ahead = readahead{fetch: file.fetch, start: f.executor.background, size: info.Size()}
	return file, nil
}

// isSame tells whether a file can be taken for the same, unchanged.
func (i *FileInfo) isSame(other *FileInfo) bool {
	return i.metadata.IsFile && i.metadata.Size == other.metadata.Size &&
		i.metadata.ModifiedAtMs == other.metadata.ModifiedAtMs
}

// ReadFile reads a whole file. The error is [ErrTooLarge] if it has more than 512 MiB.
func (f *Files) ReadFile(ctx context.Context, path protocol.PathURI) ([]byte, error) {
	info, err := f.Stat(ctx, path)
	if err != nil {
		return nil, err
	}
	size := info.Size()
	switch {
	case size > limits.WholeFileBytes:
		return nil, f.pathError("read", path, ErrTooLarge)
	case size > 0 && size <= limits.WholeFrameBytes || !info.metadata.IsFile:
		// Files without a size, as those of the system are, may have any.
		result, err := ofPath[protocol.ReadFileResult](ctx, f, "read", path, protocol.MethodReadFile,
			&protocol.ReadFileParams{Path: path})
		if err != nil {
			return nil, err
		}
		return result.DataBase64, nil
	}
	file, err := f.open(ctx, path, info)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return file.readAll(limits.WholeFileBytes)
}

// readAll returns all that is in the file, if it is not too much.
func (f *File) readAll(most int) ([]byte, error) {
	data := make([]byte, 0, min(f.info.Size(), int64(most)))
	for {
		more, err := f.next()
		if err == io.EOF {
			return data, nil
		}
		if err != nil {
			return nil, err
		}
		if len(data)+len(more) > most {
			return nil, f.fail("read", ErrTooLarge)
		}
		data = append(data, more...)
		f.offset += int64(len(more))
	}
}

// URI returns the path that the file was opened by.
func (f *File) URI() protocol.PathURI { return f.path }

// Stat implements [fs.File]: it returns a *[FileInfo] of when the file was opened.
func (f *File) Stat() (fs.FileInfo, error) {
	if f.isClosed() {
		return nil, f.fail("stat", fs.ErrClosed)
	}
	return f.info, nil
}

// Read implements [io.Reader].
func (f *File) Read(data []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(data) == 0 {
		return 0, nil
	}
	more, err := f.next()
	n := copy(data, more)
	f.offset += int64(n)
	return n, err
}

// WriteTo implements [io.WriterTo].
func (f *File) WriteTo(w io.Writer) (int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	began := f.offset
	for {
		more, err := f.next()
		if err == io.EOF {
			return f.offset - began, nil
		}
		if err == nil {
			var n int
			n, err = w.Write(more)
			f.offset += int64(n)
		}
		if err != nil {
			return f.offset - began, err
		}
	}
}

// next returns what comes at the offset. The caller holds the lock.
func (f *File) next() ([]byte, error) {
	if f.isClosed() {
		return nil, f.fail("read", fs.ErrClosed)
	}
	data, err := f.ahead.at(f.offset)
	if err != nil && err != io.EOF {
		err = f.fail("read", err)
	}
	return data, err
}

// ReadAt implements [io.ReaderAt].
func (f *File) ReadAt(data []byte, offset int64) (int, error) {
	if offset < 0 {
		return 0, f.fail("read", errNegative)
	}
	if f.isClosed() {
		return 0, f.fail("read", fs.ErrClosed)
	}
	n := 0
	for n < len(data) {
		result, err := f.fetch(offset+int64(n), min(len(data)-n, limits.FileBlockBytes))
		if err != nil {
			return n, f.fail("read", err)
		}
		n += copy(data[n:], result.Chunk)
		switch {
		case result.EOF && n < len(data):
			return n, io.EOF
		case len(result.Chunk) == 0:
			return n, f.fail("read", errEndless)
		}
	}
	return n, nil
}

var errNegative = errors.New("the offset is negative")

// Seek implements [io.Seeker]. The end is where it was when the file was opened.
func (f *File) Seek(offset int64, whence int) (int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch whence {
	case io.SeekStart:
	case io.SeekCurrent:
		offset += f.offset
	case io.SeekEnd:
		offset += f.info.Size()
	default:
		return 0, f.fail("seek", errors.ErrUnsupported)
	}
	if offset < 0 {
		return 0, f.fail("seek", errNegative)
	}
	if f.isClosed() {
		return 0, f.fail("seek", fs.ErrClosed)
	}
	f.offset = offset
	return offset, nil
}

// Close closes the file, and ends what is being read. It fails if that has been
// done before.
func (f *File) Close() error {
	err := f.fail("close", fs.ErrClosed)
	f.closing.Do(func() {
		close(f.closed)
		f.stop()
		f.finish()
		err = nil
	})
	return err
}

func (f *File) isClosed() bool {
	select {
	case <-f.closed:
		return true
	default:
		return false
	}
}

package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
)

// FileWriter writes a file. It implements [io.Writer], [io.ReaderFrom],
// [io.WriterAt] and [io.Closer].
//
// Write and ReadFrom write one block behind the other, of which up to 4 MiB are
// under way: an error comes with a later call, with [FileWriter.Close] at the
// latest. WriteAt returns when what it was given is written, and may be called by
// several goroutines at the same time; so may the others.
//
// The executor closes the file when the connection is lost. If it has the feature
// [protocol.FeatureFSOpenKeep], writing goes on over the next one, provided that
// the file is no shorter than it was; if it is, the error wraps [ErrFileChanged].
// With others the error wraps [ErrWriteInterrupted], and what has been written stays.
//
// Blocks may be written out of order: what is in the file behind [FileWriter.Confirmed]
// may have holes, so that the length of a file does not tell how far it came.
type FileWriter struct {
	path protocol.PathURI
	// put writes up to a block. It ends by itself. start runs it beside.
	put   func(data []byte, offset int64) error
	start func(func()) error
	// finish closes the file.
	finish func()
	fail   func(op string, err error) error

	places chan struct{} // holds a token for each block under way
	spare  chan []byte   // buffers that can be used again: one more may be being filled

	mu     sync.Mutex // held while something is written in order
	buffer []byte     // what is not sent yet
	offset int64      // where it goes
	closed bool

	progress progress
}

// WriteFile writes a whole file: one that exists is overwritten in place, another
// one is made. Its directory must be there.
func (f *Files) WriteFile(ctx context.Context, path protocol.PathURI, data []byte) error {
	if len(data) <= limits.WholeFrameBytes {
		_, err := ofPath[protocol.WriteFileResult](ctx, f, "write", path, protocol.MethodWriteFile,
			&protocol.WriteFileParams{Path: path, DataBase64: protocol.FileData{Bytes: data}})
		return err
	}
	w, err := f.Create(ctx, path)
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	if closeErr := w.Close(); err == nil {
		err = closeErr
	}
	return err
}

// Create opens a file to be written, from empty; it is made if it is not there. Its
// directory must be. The context bounds all that is done with it: if it ends, what
// has been written stays.
func (f *Files) Create(ctx context.Context, path protocol.PathURI) (*FileWriter, error) {
	return f.openWriter(ctx, path, 0, nil)
}

// Update opens a file to be written from an offset on, and keeps what it holds; it
// is made if it is not there, and what lies between its end and the offset becomes
// zeros. So a transfer goes on that was interrupted. The error
// wraps errors.ErrUnsupported if the executor can't do that: the dialect itself has
// no way to.
func (f *Files) Update(ctx context.Context, path protocol.PathURI, offset int64) (*FileWriter, error) {
	err := f.executor.lacks("keeping what a file holds", protocol.FeatureFSOpenKeep)
	if err == nil && offset < 0 {
		err = errNegative
	}
	if err != nil {
		return nil, f.pathError("open", path, err)
	}
	return f.openWriter(ctx, path, offset, &protocol.OpenExtra{Keep: true})
}

func (f *Files) openWriter(ctx context.Context, path protocol.PathURI, offset int64, extra *protocol.OpenExtra) (*FileWriter, error) {
	if info := f.executor.Info(); info.Airlock == nil && !info.Capabilities.FileWriteStreaming {
		err := fmt.Errorf("writing by blocks: %w by this executor", errors.ErrUnsupported)
		return nil, f.pathError("open", path, err)
	}
	w := &FileWriter{
		path: path, offset: offset,
		places: make(chan struct{}, limits.BlocksAhead), spare: make(chan []byte, limits.BlocksAhead+1),
		start: f.executor.background,
		fail:  func(op string, err error) error { return f.pathError(op, path, err) },
	}
	w.progress.init(offset)
	o := newOpened(f.executor, protocol.OpenFileParams{Path: path, Mode: protocol.OpenReplace, Airlock: extra})
	o.again = func(params *protocol.OpenFileParams) error {
		if f.executor.lacks("", protocol.FeatureFSOpenKeep) != nil {
			return ErrWriteInterrupted
		}
		params.Airlock = &protocol.OpenExtra{Keep: true}
		return nil
	}
	o.check = func(ctx context.Context) error {
		now, err := f.Stat(ctx, path)
		if err == nil && now.Size() < w.progress.furthest() || errors.Is(err, fs.ErrNotExist) {
			err = ErrFileChanged
		}
		return err
	}
	if _, err := o.handle(ctx, nil); err != nil {
		return nil, f.pathError("open", path, err)
	}
	if extra != nil { // the file shall be no shorter when it is opened anew
		info, err := f.Stat(ctx, path)
		if err != nil {
			o.close(ctx)
			return nil, err
		}
		w.progress.reached(info.Size())
	}
	w.put = func(data []byte, offset int64) error {
		_, err := askFile[protocol.WriteBlockResult](ctx, o, protocol.MethodWriteBlock, func(id string) any {
			return &protocol.WriteBlockParams{HandleID: id, Offset: uint64(offset), Chunk: data}
		})
		return err
	}
	w.finish = func() { o.close(ctx) }
	return w, nil
}

// URI returns the path that the file was opened by.
func (w *FileWriter) URI() protocol.PathURI { return w.path }

// Write implements [io.Writer].
func (w *FileWriter) Write(data []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for n < len(data) {
		if err := w.ready(); err != nil {
			return n, err
		}
		room := w.buffer[len(w.buffer):cap(w.buffer)]
		copied := copy(room, data[n:])
		w.buffer = w.buffer[:len(w.buffer)+copied]
		n += copied
	}
	return n, nil
}

// ReadFrom implements [io.ReaderFrom].
func (w *FileWriter) ReadFrom(r io.Reader) (int64, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	total := int64(0)
	for {
		if err := w.ready(); err != nil {
			return total, err
		}
		n, err := r.Read(w.buffer[len(w.buffer):cap(w.buffer)])
		w.buffer = w.buffer[:len(w.buffer)+n]
		total += int64(n)
		if err == io.EOF {
			return total, nil
		}
		if err != nil {
			return total, err
		}
	}
}

// ready sees to it that there is room in the buffer. The caller holds the lock.
func (w *FileWriter) ready() error {
	if len(w.buffer) > 0 && len(w.buffer) == cap(w.buffer) {
		w.send()
	}
	if w.closed {
		return w.fail("write", fs.ErrClosed)
	}
	if err := w.progress.failure(); err != nil {
		return w.fail("write", err)
	}
	if cap(w.buffer) == 0 {
		select {
		case w.buffer = <-w.spare:
		default:
			w.buffer = make([]byte, 0, limits.BlockBytes)
		}
	}
	return nil
}

// send sends what the buffer holds. The caller holds the lock.
func (w *FileWriter) send() {
	data, offset := w.buffer, w.offset
	w.buffer = nil
	w.offset += int64(len(data))
	w.places <- struct{}{}
	p := w.progress.begin(offset, len(data))
	err := w.start(func() {
		err := w.put(data, offset)
		w.spare <- data[:0] // there is room for all
		<-w.places
		w.progress.end(p, err)
	})
	if err != nil {
		<-w.places
		w.progress.end(p, err)
	}
}

// WriteAt implements [io.WriterAt]. It does not change where Write goes on.
func (w *FileWriter) WriteAt(data []byte, offset int64) (int, error) {
	if offset < 0 {
		return 0, w.fail("write", errNegative)
	}
	n := 0
	for n < len(data) {
		piece := data[n:min(len(data), n+limits.FileBlockBytes)]
		if err := w.put(piece, offset+int64(n)); err != nil {
			return n, w.fail("write", err)
		}
		n += len(piece)
		w.progress.reached(offset + int64(n))
	}
	return n, nil
}

// Flush waits until the executor has written all that it was given in order.
func (w *FileWriter) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return w.fail("write", fs.ErrClosed)
	}
	return w.flush()
}

func (w *FileWriter) flush() error {
	if len(w.buffer) > 0 && w.progress.failure() == nil {
		w.send()
	}
	if err := w.progress.wait(); err != nil {
		return w.fail("write", err)
	}
	return nil
}

// Confirmed returns up to which offset the executor has written all that it was
// given in order. [Files.Update] can go on there.
func (w *FileWriter) Confirmed() int64 { return w.progress.confirmed() }

// Close writes what is left and closes the file. It returns the first error of all
// that was written in order, and fails if the file is closed.
func (w *FileWriter) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return w.fail("close", fs.ErrClosed)
	}
	w.closed = true
	err := w.flush()
	w.finish()
	w.buffer = nil
	return err
}

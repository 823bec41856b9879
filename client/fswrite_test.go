package client

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
)

var keeping = append([]string{protocol.FeatureFSOpenKeep}, pacing...)

// content returns what a file holds.
func (f *fakeFiles) content(path protocol.PathURI) []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	if file := f.byPath[path.String()]; file != nil {
		return bytes.Clone(file.data)
	}
	return nil
}

// TestWriteOverCuts: a file is written whole, whatever becomes of the connection, by
// an executor that can go on with it.
func TestWriteOverCuts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, keeping...)
		path := uri(t, "file:///f")
		f.files.put(path, []byte("something else"))
		f.cutEvery(protocol.MethodWriteBlock, 4)
		e := open(t, f, Options{})
		w, err := e.Files().Create(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		data := noise(12*limits.BlockBytes + 123)
		if n, err := io.Copy(w, bytes.NewReader(data)); n != int64(len(data)) || err != nil {
			t.Errorf("%d bytes, error %v", n, err)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		if !bytes.Equal(f.files.content(path), data) || w.Confirmed() != int64(len(data)) {
			t.Errorf("%d of %d bytes, %d are confirmed", len(f.files.content(path)), len(data), w.Confirmed())
		}
		if cuts := f.connections() - 1; cuts < 3 {
			t.Errorf("%d cuts", cuts)
		}
		if n := f.handles(); n != 0 {
			t.Errorf("%d files are open", n)
		}
	})
}

// TestWriteInterrupted: an executor that can only begin anew is not asked to, as that
// would take away what it has; what is confirmed is there.
func TestWriteInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, pacing...)
		path := uri(t, "file:///f")
		f.cutEvery(protocol.MethodWriteBlock, 6)
		e := open(t, f, Options{})
		w, err := e.Files().Create(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		data := noise(20 * limits.BlockBytes)
		_, err = w.Write(data[:limits.BlockBytes])
		if err := errors.Join(err, w.Flush()); err != nil {
			t.Fatal(err)
		}
		_, err = w.Write(data[limits.BlockBytes:])
		closeErr := w.Close()
		failed, ok := errors.AsType[*fs.PathError](closeErr)
		if !errors.Is(closeErr, ErrWriteInterrupted) || !ok || failed.Path != path.String() || err != nil && !errors.Is(err, ErrWriteInterrupted) {
			t.Errorf("written with %v, closed with %v", err, closeErr)
		}
		confirmed := w.Confirmed()
		got := f.files.content(path)
		if confirmed < limits.BlockBytes || confirmed >= int64(len(data)) || !bytes.HasPrefix(got, data[:confirmed]) {
			t.Errorf("%d bytes are confirmed, %d are there", confirmed, len(got))
		}
		if n := len(f.files.opens()); n != 1 {
			t.Errorf("opened %d times", n)
		}
	})
}

// TestWriteGoesOn: what was interrupted goes on where it was confirmed.
func TestWriteGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, keeping...)
		path := uri(t, "file:///f")
		data := noise(5 * limits.BlockBytes)
		f.files.put(path, data[:2*limits.BlockBytes])
		e := open(t, f, Options{})
		w, err := e.Files().Update(t.Context(), path, 2*limits.BlockBytes)
		if err != nil {
			t.Fatal(err)
		}
		if n := w.Confirmed(); n != 2*limits.BlockBytes {
			t.Errorf("%d bytes are confirmed", n)
		}
		if _, err := w.Write(data[2*limits.BlockBytes:]); err != nil {
			t.Error(err)
		}
		if err := w.Close(); err != nil || !bytes.Equal(f.files.content(path), data) {
			t.Errorf("%d bytes, error %v", len(f.files.content(path)), err)
		}
	})
}

// TestUpdateUnsupported: an executor that would empty the file is not asked.
func TestUpdateUnsupported(t *testing.T) {
	kinds(t, func(t *testing.T, f *fake) {
		path := uri(t, "file:///f")
		f.files.put(path, []byte("kept"))
		e := open(t, f, Options{})
		_, err := e.Files().Update(t.Context(), path, 4)
		if !errors.Is(err, errors.ErrUnsupported) || string(f.files.content(path)) != "kept" {
			t.Errorf("%q, error %v", f.files.content(path), err)
		}
	})
}

// TestWriteChanged: nothing goes on behind a hole.
func TestWriteChanged(t *testing.T) {
	for name, change := range map[string]func(f *fakeFiles, path protocol.PathURI){
		"shorter": func(f *fakeFiles, path protocol.PathURI) { f.put(path, nil) },
		"removed": func(f *fakeFiles, path protocol.PathURI) {
			f.mu.Lock()
			defer f.mu.Unlock()
			delete(f.byPath, path.String())
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t, keeping...)
				path := uri(t, "file:///f")
				e := open(t, f, Options{})
				w, err := e.Files().Create(t.Context(), path)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := w.Write(noise(limits.BlockBytes)); err != nil {
					t.Fatal(err)
				}
				if err := w.Flush(); err != nil {
					t.Fatal(err)
				}
				f.cut()
				change(f.files, path)
				if _, err := w.WriteAt([]byte("x"), 0); !errors.Is(err, ErrFileChanged) {
					t.Errorf("at an offset: %v", err)
				}
				if _, err := w.Write([]byte("x")); err != nil {
					t.Error(err)
				}
				if err := w.Close(); !errors.Is(err, ErrFileChanged) {
					t.Errorf("in order: %v", err)
				}
			})
		})
	}
}

// TestCloseWhileOpening: a file that is opened anew while it is closed is closed, too.
func TestCloseWhileOpening(t *testing.T) {
	for name, open2 := range map[string]func(*Files, context.Context, protocol.PathURI) (use func() error, end io.Closer, err error){
		"written": func(files *Files, ctx context.Context, path protocol.PathURI) (func() error, io.Closer, error) {
			w, err := files.Create(ctx, path)
			return func() error { return errOf(w.WriteAt([]byte("x"), 0)) }, w, err
		},
		"read": func(files *Files, ctx context.Context, path protocol.PathURI) (func() error, io.Closer, error) {
			r, err := files.Open(ctx, path)
			return func() error { return errOf(r.ReadAt(make([]byte, 1), 0)) }, r, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t, keeping...)
				path := uri(t, "file:///f")
				f.files.put(path, nil)
				e := open(t, f, Options{})
				use, file, err := open2(e.Files(), t.Context(), path)
				if err != nil {
					t.Fatal(err)
				}
				hold := make(chan struct{})
				f.files.mu.Lock()
				f.files.hold = hold
				f.files.mu.Unlock()
				f.cut()
				used, closed := make(chan error), make(chan error)
				go func() { used <- use() }()
				synctest.Wait()
				go func() { closed <- file.Close() }()
				synctest.Wait()
				close(hold)
				if err := <-closed; err != nil {
					t.Errorf("closed with %v", err)
				}
				if err := <-used; !errors.Is(err, fs.ErrClosed) {
					t.Errorf("used with %v", err)
				}
				synctest.Wait()
				if n := f.handles(); n != 0 {
					t.Errorf("%d files are open", n)
				}
				if err := use(); !errors.Is(err, fs.ErrClosed) {
					t.Errorf("used again with %v", err)
				}
			})
		})
	}
}

func errOf[T any](_ T, err error) error { return err }

// TestUpdateChanged: what was there when a file was opened to be gone on with must be
// there when it is opened anew, also if nothing has been written in between.
func TestUpdateChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, keeping...)
		path := uri(t, "file:///f")
		f.files.put(path, noise(100))
		e := open(t, f, Options{})
		w, err := e.Files().Update(t.Context(), path, 100)
		if err != nil {
			t.Fatal(err)
		}
		f.cut()
		f.files.put(path, noise(99))
		if _, err := w.Write([]byte("x")); err != nil {
			t.Error(err)
		}
		if err := w.Close(); !errors.Is(err, ErrFileChanged) {
			t.Errorf("closed with %v", err)
		}
		if n := len(f.files.content(path)); n != 99 {
			t.Errorf("%d bytes", n)
		}
	})
}

// TestWriteEnds: what is left at the end of the context is not written.
func TestWriteEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, keeping...)
		path := uri(t, "file:///f")
		e := open(t, f, Options{})
		ctx, cancel := context.WithCancel(t.Context())
		w, err := e.Files().Create(ctx, path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte("abc")); err != nil {
			t.Fatal(err)
		}
		cancel()
		if err := w.Close(); !errors.Is(err, context.Canceled) {
			t.Errorf("closed with %v", err)
		}
		if err := w.Close(); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("closed again with %v", err)
		}
		if _, err := w.Write([]byte("x")); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("written then: %v", err)
		}
		if n := f.handles(); n != 0 {
			t.Errorf("%d files are open", n)
		}
	})
}

// TestWriterIsFile: a writer does what one without blocks does.
func TestWriterIsFile(t *testing.T) {
	f := newFake(t, keeping...)
	e := open(t, f, Options{})
	path := uri(t, "file:///f")
	rapid.Check(t, func(t *rapid.T) {
		w, err := e.Files().Create(context.Background(), path)
		if err != nil {
			t.Fatal(err)
		}
		var model []byte
		offset := 0
		piece := rapid.Custom(func(t *rapid.T) []byte {
			size := rapid.OneOf(rapid.IntRange(0, 10), rapid.IntRange(0, 3*limits.BlockBytes)).Draw(t, "size")
			return bytes.Repeat([]byte{rapid.Byte().Draw(t, "byte")}, size)
		})
		t.Repeat(map[string]func(*rapid.T){
			"write": func(t *rapid.T) {
				data := piece.Draw(t, "data")
				if n, err := w.Write(data); n != len(data) || err != nil {
					t.Fatalf("%d bytes, error %v", n, err)
				}
				model = overwrite(model, data, offset)
				offset += len(data)
			},
			"readFrom": func(t *rapid.T) {
				data := piece.Draw(t, "data")
				if n, err := w.ReadFrom(bytes.NewReader(data)); n != int64(len(data)) || err != nil {
					t.Fatalf("%d bytes, error %v", n, err)
				}
				model = overwrite(model, data, offset)
				offset += len(data)
			},
			"flush, and write at": func(t *rapid.T) {
				if err := w.Flush(); err != nil || w.Confirmed() != int64(offset) {
					t.Fatalf("%d of %d bytes are confirmed, error %v", w.Confirmed(), offset, err)
				}
				data := piece.Draw(t, "data")
				at := rapid.IntRange(0, len(model)+10).Draw(t, "offset")
				if len(data) == 0 {
					return
				}
				if n, err := w.WriteAt(data, int64(at)); n != len(data) || err != nil {
					t.Fatalf("%d bytes, error %v", n, err)
				}
				model = overwrite(model, data, at)
			},
			"": func(t *rapid.T) {
				if confirmed := w.Confirmed(); confirmed > int64(offset) || confirmed < 0 {
					t.Fatalf("%d of %d bytes are confirmed", confirmed, offset)
				}
			},
		})
		if err := w.Close(); err != nil || !bytes.Equal(f.files.content(path), model) {
			t.Fatalf("%d in place of %d bytes, error %v", len(f.files.content(path)), len(model), err)
		}
	})
}

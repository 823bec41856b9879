package client

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
)

func uri(t *testing.T, text string) protocol.PathURI {
	t.Helper()
	path, err := protocol.ParsePathURI(text)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// noise returns bytes that no two places of a file have in common.
func noise(size int) []byte {
	data := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{}).Read(data)
	return data
}

// cutEvery cuts the connection around every nth request of a method, alternately
// before and after it is carried out.
func (f *fake) cutEvery(method string, n int) {
	befores, afters := 0, 0
	f.mu.Lock()
	defer f.mu.Unlock()
	counted := func(count *int, at int) func(string) bool {
		return func(asked string) bool {
			if asked != method {
				return false
			}
			f.mu.Lock()
			defer f.mu.Unlock()
			*count++
			return *count%(2*n) == at
		}
	}
	f.before, f.after = counted(&befores, n), counted(&afters, 0)
}

// handles returns how many files are open over the connection that there is.
func (f *fake) handles() int {
	f.mu.Lock()
	l := f.attached
	f.mu.Unlock()
	return f.files.open(l)
}

// TestReadOverCuts: a file comes whole, whatever becomes of the connection.
func TestReadOverCuts(t *testing.T) {
	kinds(t, func(t *testing.T, f *fake) {
		data := noise(12*limits.BlockBytes + 123)
		path := uri(t, "file:///f")
		f.files.put(path, data)
		f.cutEvery(protocol.MethodReadBlock, 4)
		e := open(t, f, Options{})
		file, err := e.Files().Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		read, err := io.ReadAll(file)
		if err != nil || !bytes.Equal(read, data) {
			t.Errorf("%d of %d bytes, error %v", len(read), len(data), err)
		}
		part := make([]byte, 3*limits.BlockBytes)
		if n, err := file.ReadAt(part, limits.BlockBytes/2); n != len(part) || err != nil || !bytes.Equal(part, data[limits.BlockBytes/2:][:n]) {
			t.Errorf("at an offset: %d bytes, error %v", n, err)
		}
		f.mu.Lock()
		f.before, f.after = nil, nil
		f.mu.Unlock()
		if cuts := f.connections() - 1; cuts < 3 {
			t.Errorf("%d cuts", cuts)
		}
		synctest.Wait()
		if err := file.Close(); err != nil {
			t.Error(err)
		}
		if n := f.handles(); n != 0 {
			t.Errorf("%d files are open", n)
		}
	})
}

// TestReadChanged: parts of two files are never put together.
func TestReadChanged(t *testing.T) {
	for name, change := range map[string]func(f *fakeFiles, path protocol.PathURI){
		"size": func(f *fakeFiles, path protocol.PathURI) { f.put(path, noise(99)) },
		"time": func(f *fakeFiles, path protocol.PathURI) { f.put(path, noise(8*limits.BlockBytes)).modified = 2 },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t, pacing...)
				path := uri(t, "file:///f")
				f.files.put(path, noise(8*limits.BlockBytes))
				e := open(t, f, Options{})
				file, err := e.Files().Open(t.Context(), path)
				if err != nil {
					t.Fatal(err)
				}
				defer file.Close()
				if _, err := io.CopyN(io.Discard, file, limits.BlockBytes); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				f.cut()
				change(f.files, path)
				if _, err := file.ReadAt(make([]byte, 1), 0); !errors.Is(err, ErrFileChanged) {
					t.Errorf("at an offset: %v", err)
				}
				_, err = io.Copy(io.Discard, file)
				if failed, ok := errors.AsType[*fs.PathError](err); !errors.Is(err, ErrFileChanged) || !ok || failed.Path != path.String() {
					t.Errorf("in order: %v", err)
				}
				if n := f.handles(); n != 0 {
					t.Errorf("%d files are open", n)
				}
			})
		})
	}
}

// TestOpenGivenUp: a file that is open only when nobody waits for it is closed.
func TestOpenGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, pacing...)
		path := uri(t, "file:///f")
		f.files.put(path, nil)
		f.files.hold = make(chan struct{})
		e := open(t, f, Options{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := e.Files().Open(ctx, path); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("opened: %v", err)
		}
		close(f.files.hold)
		synctest.Wait()
		if opened, left := len(f.files.opens()), f.handles(); opened != 1 || left != 0 {
			t.Errorf("%d files were opened, %d are open", opened, left)
		}
	})
}

// TestReadEnds: what reads ends with the context, the file and the executor.
func TestReadEnds(t *testing.T) {
	for name, test := range map[string]struct {
		end  func(cancel func(), file *File, e Executor)
		want error
	}{
		"context":  {func(cancel func(), _ *File, _ Executor) { cancel() }, context.Canceled},
		"file":     {func(_ func(), file *File, _ Executor) { _ = file.Close() }, fs.ErrClosed},
		"executor": {func(_ func(), _ *File, e Executor) { _ = e.Close() }, ErrDisconnected},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t, pacing...)
				path := uri(t, "file:///f")
				f.files.put(path, noise(100))
				e := open(t, f, Options{})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				file, err := e.Files().Open(ctx, path)
				if err != nil {
					t.Fatal(err)
				}
				f.mu.Lock()
				f.unreachable = true
				f.mu.Unlock()
				f.cut()
				failed := make(chan error)
				go func() {
					_, err := file.Read(make([]byte, 10))
					failed <- err
				}()
				synctest.Wait()
				test.end(cancel, file, e)
				if err := <-failed; !errors.Is(err, test.want) {
					t.Errorf("ended with %v", err)
				}
			})
		})
	}
}

// TestReadNonsense: an executor whose blocks are empty is not asked for ever.
func TestReadNonsense(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, pacing...)
		path := uri(t, "file:///f")
		f.files.put(path, noise(100))
		f.files.unread = true
		e := open(t, f, Options{})
		file, err := e.Files().Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if _, err := file.Read(make([]byte, 10)); !errors.Is(err, errEndless) {
			t.Errorf("in order: %v", err)
		}
		if _, err := file.ReadAt(make([]byte, 10), 0); !errors.Is(err, errEndless) {
			t.Errorf("at an offset: %v", err)
		}
	})
}

// TestFileIsReader: a file does what a [bytes.Reader] does.
func TestFileIsReader(t *testing.T) {
	f := newFake(t, pacing...)
	e := open(t, f, Options{})
	path := uri(t, "file:///f")
	rapid.Check(t, func(t *rapid.T) {
		data := noise(rapid.SampledFrom([]int{0, 1, limits.BlockBytes - 1, limits.BlockBytes, limits.BlockBytes + 1, 5*limits.BlockBytes + 7}).Draw(t, "size"))
		f.files.put(path, data)
		file, err := e.Files().Open(context.Background(), path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		model := bytes.NewReader(data)
		offset := rapid.OneOf(rapid.IntRange(0, 10), rapid.IntRange(0, len(data)+10), rapid.SampledFrom([]int{limits.BlockBytes, len(data)}))
		t.Repeat(map[string]func(*rapid.T){
			"read": func(t *rapid.T) {
				got := make([]byte, rapid.IntRange(0, 2*limits.BlockBytes).Draw(t, "most"))
				n, err := file.Read(got)
				want := make([]byte, n)
				_, _ = io.ReadFull(model, want)
				if !bytes.Equal(got[:n], want) || n == 0 && len(got) > 0 && err != io.EOF || err == io.EOF && model.Len() > 0 {
					t.Fatalf("%d bytes, error %v", n, err)
				}
			},
			"readAt": func(t *rapid.T) {
				got := make([]byte, rapid.IntRange(0, 2*limits.BlockBytes).Draw(t, "most"))
				want := slices.Clone(got)
				at := int64(offset.Draw(t, "offset"))
				n, err := file.ReadAt(got, at)
				m, wantErr := model.ReadAt(want, at)
				if n != m || !bytes.Equal(got, want) || err != wantErr && len(got) > 0 {
					t.Fatalf("%d in place of %d bytes, error %v in place of %v", n, m, err, wantErr)
				}
			},
			"seek": func(t *rapid.T) {
				whence := rapid.IntRange(0, 2).Draw(t, "whence")
				by := int64(offset.Draw(t, "offset"))
				if whence != io.SeekStart {
					by -= int64(len(data) / 2)
				}
				n, err := file.Seek(by, whence)
				m, wantErr := model.Seek(by, whence)
				if n != m || (err == nil) != (wantErr == nil) {
					t.Fatalf("at %d in place of %d, error %v in place of %v", n, m, err, wantErr)
				}
			},
			"writeTo": func(t *rapid.T) {
				var got, want bytes.Buffer
				n, err := file.WriteTo(&got)
				m, _ := model.WriteTo(&want)
				if n != m || err != nil || !bytes.Equal(got.Bytes(), want.Bytes()) {
					t.Fatalf("%d in place of %d bytes, error %v", n, m, err)
				}
			},
		})
	})
}

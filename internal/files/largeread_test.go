package files

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
)

// readWhole is what a request to read a file comes to.
func readWhole(ctx context.Context, f *Files, dst []byte, p *protocol.ReadFileParams) ([]byte, error) {
	r, err := f.ReadFile(ctx, p)
	if err != nil {
		return dst, err
	}
	defer r.Close()
	return r.Append(ctx, dst)
}

const largeBytes = freeBytes + 5

// holey makes a file of some size that takes no room, and returns how it is read.
func holey(tb testing.TB, size int64) *protocol.ReadFileParams {
	tb.Helper()
	path := put(tb, folder(tb)+"/f", "")
	must(tb, os.Truncate(path, size))
	return &protocol.ReadFileParams{Path: uri(tb, path)}
}

var crowded = refused{protocol.CodeInternal, "large files are being read whole that take up to 805306368 bytes, " +
	"which is as many as this executor allows; read this one by blocks (fs/open), or try again later"}

// roomForOne returns a budget with room for one large file.
func roomForOne() *Budget {
	return &Budget{large: gate{most: needed(largeBytes) + needed(largeBytes)/2}}
}

// TestLargeFilesWaitForRoom: a connection that holds one has others wait, but not
// those that read small files, nor for ever.
func TestLargeFilesWaitForRoom(t *testing.T) {
	large, small := holey(t, largeBytes), holey(t, freeBytes-1)
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		b := roomForOne()
		first, err := New(b, nil).ReadFile(ctx, large)
		must(t, err)
		_, err = readWhole(ctx, New(b, nil), nil, small)
		must(t, err)

		began := time.Now()
		_, err = New(b, nil).ReadFile(ctx, large)
		check(t, "while there is no room", err, crowded)
		if waited := time.Since(began); waited != limits.LargeReadWait {
			t.Errorf("has been refused after %v", waited)
		}

		gone, leave := context.WithCancel(ctx)
		left := make(chan error)
		go func() {
			_, err := New(b, nil).ReadFile(gone, large)
			left <- err
		}()
		read := make(chan error)
		go func() {
			_, err := readWhole(ctx, New(b, nil), nil, large)
			read <- err
		}()
		synctest.Wait()
		leave()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("the one whose client has gone: %v", err)
		}
		first.Close()
		must(t, <-read)
		if b.large.held != 0 || len(b.large.waiting) > 0 {
			t.Errorf("%d bytes are held, and %d wait", b.large.held, len(b.large.waiting))
		}
	})
}

// TestLargestFileHasRoom is about the numbers in package limits.
func TestLargestFileHasRoom(t *testing.T) {
	r, err := connection(t).ReadFile(t.Context(), holey(t, limits.WholeFileBytes))
	must(t, err)
	defer r.Close()
	if most := int64(base64.StdEncoding.EncodedLen(limits.WholeFileBytes)); r.held < most {
		t.Errorf("%d bytes are held for %d", r.held, most)
	}
}

// TestFilesThatGrow: what a file has in it that it did not say takes room, too.
func TestFilesThatGrow(t *testing.T) {
	for _, test := range []struct {
		name     string
		was, now int64
		most     int64
		want     refused
	}{
		{"a small one", 3, freeBytes - 1, 1, fine},
		{"small to large", 3, 2*freeBytes + 7, 100 << 20, fine},
		{"large to larger", freeBytes + 5, 3*freeBytes + 1, 100 << 20, fine},
		{"by exactly what there is room for", 0, 2 * freeBytes, 100 << 20, fine},
		{"small to large without room", 3, freeBytes, 1 << 20, crowded},
		{"large to larger without room", freeBytes + 5, 3 * freeBytes, needed(freeBytes+5) + 1, crowded},
	} {
		b := &Budget{large: gate{most: test.most}}
		params := holey(t, test.was)
		r, err := New(b, nil).ReadFile(t.Context(), params)
		must(t, err)
		path, err := params.Path.Native()
		must(t, err)
		must(t, os.Truncate(path, test.now))
		got, err := r.Append(t.Context(), []byte("before"))
		check(t, test.name, err, test.want)
		if err == nil {
			want, encodeErr := protocol.Encode(&protocol.ReadFileResult{DataBase64: make([]byte, test.now)})
			must(t, encodeErr)
			if !bytes.Equal(got, append([]byte("before"), want...)) {
				t.Errorf("%s: the answer is not that of a result", test.name)
			}
		} else if string(got) != "before" {
			t.Errorf("%s: got %d bytes", test.name, len(got))
		}
		encoded := int64(base64.StdEncoding.EncodedLen(int(test.now)))
		if held := b.large.held; test.want == fine && encoded > limits.FrameBytes && held < encoded {
			t.Errorf("%s: %d bytes are held for %d", test.name, held, encoded)
		}
		r.Close()
		if b.large.held != 0 {
			t.Errorf("%s: %d bytes are held in the end", test.name, b.large.held)
		}
	}
}

// TestGate: there are never too many in, nobody waits for whom there is room, and
// those that came first are let in first.
func TestGate(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		synctest.Test(t, func(*testing.T) {
			const most = 10
			g := &gate{most: most}
			type guest struct {
				bytes  int64
				in     bool
				cancel context.CancelFunc
			}
			var guests []*guest // in the order of arrival
			draw := func(which func(*guest) bool) *guest {
				var some []*guest
				for _, v := range guests {
					if which(v) {
						some = append(some, v)
					}
				}
				if len(some) == 0 {
					return nil
				}
				return rapid.SampledFrom(some).Draw(rt, "guest")
			}
			forget := func(v *guest) {
				for i := range guests {
					if guests[i] == v {
						guests = append(guests[:i], guests[i+1:]...)
						return
					}
				}
			}
			for range rapid.IntRange(1, 30).Draw(rt, "steps") {
				switch rapid.IntRange(0, 3).Draw(rt, "step") {
				case 0:
					ctx, cancel := context.WithCancel(context.Background())
					v := &guest{bytes: rapid.Int64Range(1, most).Draw(rt, "bytes"), cancel: cancel}
					guests = append(guests, v)
					go func() { v.in = g.enter(ctx, v.bytes) == nil }()
				case 1:
					if v := draw(func(v *guest) bool { return v.in }); v != nil {
						g.leave(v.bytes)
						v.cancel()
						forget(v)
					}
				case 2:
					if v := draw(func(v *guest) bool { return !v.in }); v != nil {
						v.cancel()
						forget(v)
					}
				case 3:
					if v := draw(func(v *guest) bool { return v.in }); v != nil && g.widen(1) {
						v.bytes++
					}
				}
				synctest.Wait()
				var held int64
				waits := false
				for _, v := range guests {
					switch {
					case v.in && waits:
						rt.Errorf("one has been let in before another one that came earlier")
					case v.in:
						held += v.bytes
					case !waits && held+v.bytes <= most:
						rt.Errorf("one waits for %d bytes, though only %d are held", v.bytes, held)
						waits = true
					default:
						waits = true
					}
				}
				if held > most || held != g.held {
					rt.Errorf("%d bytes are held, or %d", held, g.held)
				}
			}
			for _, v := range guests {
				v.cancel()
			}
			synctest.Wait()
		})
	})
}

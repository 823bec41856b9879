package transfer

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/airlock-exec/airlock/client"
)

const mib = 1 << 20

type moveFunc = func(k *kit, ctx context.Context, from, to string) error

func TestSizes(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, move moveFunc) {
		for _, disabled := range [][]string{nil, allFeatures()} {
			k := newKit(t, disabled...)
			for _, n := range []int{0, 1, mib - 1, mib, mib + 1, 9 * mib} {
				dir := t.TempDir()
				data := noise(n)
				from := write(t, filepath.Join(dir, "from"), data)
				k.moved.Store(0)
				if err := move(k, t.Context(), from, filepath.Join(dir, "to")); err != nil {
					t.Fatal(err)
				}
				wantFile(t, filepath.Join(dir, "to"), data)
				if moved := k.moved.Load(); moved != int64(n) {
					t.Errorf("%d bytes have been told of %d", moved, n)
				}
			}
		}
	})
}

// TestReplace asserts that a file is replaced, and that a symbolic link to it stays
// one.
func TestReplace(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, move moveFunc) {
		k, dir := newKit(t), t.TempDir()
		from := write(t, filepath.Join(dir, "from"), []byte("new"))
		to := write(t, filepath.Join(dir, "to"), []byte("old and longer"))
		link := filepath.Join(dir, "link")
		if err := os.Symlink("to", link); err != nil {
			t.Skip(err)
		}
		if err := move(k, t.Context(), from, link); err != nil {
			t.Fatal(err)
		}
		wantFile(t, to, []byte("new"))
		if target, err := os.Readlink(link); target != "to" {
			t.Errorf("the link is %q, %v", target, err)
		}
	})
}

func TestModes(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("there are no modes")
	}
	k, dir := newKit(t), t.TempDir()
	program := write(t, filepath.Join(dir, "program"), []byte("x"))
	secret := write(t, filepath.Join(dir, "secret"), []byte("x"))
	if err := os.Chmod(program, 0o750); err != nil { //nolint:gosec // what is tested
		t.Fatal(err)
	}
	// put: the mode is that of the file here.
	if err := k.Put(t.Context(), program, uriOf(t, filepath.Join(dir, "put"))); err != nil {
		t.Fatal(err)
	}
	// get: it is that of the file that is replaced.
	if err := k.Get(t.Context(), uriOf(t, program), secret); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]fs.FileMode{"put": 0o750, "secret": 0o600} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v; want %v", name, info, err, want)
		}
	}
}

// TestErrorsNameTheFile asserts that errors are about the file that was asked for, not
// about a part of it.
func TestErrorsNameTheFile(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, move moveFunc) {
		k, dir := newKit(t), t.TempDir()
		from := write(t, filepath.Join(dir, "from"), []byte("x"))
		for _, test := range []struct {
			from, to string
			want     error
		}{
			{filepath.Join(dir, "nowhere"), filepath.Join(dir, "to"), fs.ErrNotExist},
			{from, filepath.Join(dir, "nowhere", "to"), fs.ErrNotExist},
			{from, dir, nil},
			{dir, filepath.Join(dir, "to"), nil},
		} {
			err := move(k, t.Context(), test.from, test.to)
			if err == nil || test.want != nil && !errors.Is(err, test.want) || strings.Contains(err.Error(), ".airlock-") {
				t.Errorf("%s to %s: %v", test.from, test.to, err)
			}
			wantParts(t, dir, 0)
		}
	})
}

// TestResume asserts that a transfer goes on where a lost executor has ended it.
func TestResume(t *testing.T) {
	t.Parallel()
	const size = 32 * mib
	both(t, func(t *testing.T, move moveFunc) {
		dir := t.TempDir()
		data := noise(size)
		from, to := write(t, filepath.Join(dir, "from"), data), filepath.Join(dir, "to")
		lost := newKit(t)
		lost.after(24*mib, lost.cut)
		if err := move(lost, t.Context(), from, to); !errors.Is(err, client.ErrDisconnected) {
			t.Fatalf("the executor is lost: %v", err)
		}
		wantParts(t, dir, 1)
		k := newKit(t)
		first := int64(0)
		k.Moved = func(n int64) {
			if k.moved.Add(n) == n {
				first = n
			}
		}
		if err := move(k, t.Context(), from, to); err != nil {
			t.Fatal(err)
		}
		wantFile(t, to, data)
		if first < 4*mib || k.moved.Load() != size {
			t.Errorf("it went on at %d, and %d bytes are told", first, k.moved.Load())
		}
	})
}

// TestResumeOfAnother asserts that a part of a file that has been changed since is
// nothing to go on with.
func TestResumeOfAnother(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, move moveFunc) {
		dir := t.TempDir()
		from, to := write(t, filepath.Join(dir, "from"), noise(24*mib)), filepath.Join(dir, "to")
		lost := newKit(t)
		lost.after(16*mib, lost.cut)
		if err := move(lost, t.Context(), from, to); !errors.Is(err, client.ErrDisconnected) {
			t.Fatalf("the executor is lost: %v", err)
		}
		wantParts(t, dir, 1)
		changed := append([]byte("changed"), noise(24*mib)...)
		write(t, from, changed)
		if err := move(newKit(t), t.Context(), from, to); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(to)
		if err != nil || string(got) != string(changed) {
			t.Errorf("what has come is not what there is: %v", err)
		}
	})
}

func TestInterrupt(t *testing.T) {
	t.Parallel()
	errStop := errors.New("stop")
	both(t, func(t *testing.T, move moveFunc) {
		for _, keep := range []bool{false, true} {
			k, dir := newKit(t), t.TempDir()
			k.Keep = keep
			ctx, stop := context.WithCancelCause(t.Context())
			k.after(8*mib, func() { stop(errStop) })
			from := write(t, filepath.Join(dir, "from"), noise(24*mib))
			to := write(t, filepath.Join(dir, "to"), []byte("as it was"))
			if err := move(k, ctx, from, to); !errors.Is(err, errStop) {
				t.Errorf("interrupted: %v", err)
			}
			if got, err := os.ReadFile(to); string(got) != "as it was" {
				t.Errorf("the file is %d bytes, %v", len(got), err)
			}
			parts := 0
			if keep {
				parts = 1
			}
			wantParts(t, dir, parts)
		}
	})
}

func TestStreams(t *testing.T) {
	t.Parallel()
	k, dir := newKit(t), t.TempDir()
	path := filepath.Join(dir, "file")
	data := noise(3 * mib)
	write(t, path, []byte("old"))
	if err := k.PutStream(t.Context(), strings.NewReader(string(data)), uriOf(t, path)); err != nil {
		t.Fatal(err)
	}
	wantFile(t, path, data)
	var got strings.Builder
	if err := k.GetStream(t.Context(), uriOf(t, path), &got); err != nil || got.String() != string(data) {
		t.Errorf("%d bytes, %v", got.Len(), err)
	}
}

// TestStreamInterrupted asserts that what never ends does not keep a transfer from
// being ended.
func TestStreamInterrupted(t *testing.T) {
	t.Parallel()
	k, dir := newKit(t), t.TempDir()
	silent, writer := io.Pipe()
	defer writer.Close() // the read that nobody waits for
	errStop := errors.New("stop")
	ctx, stop := context.WithCancelCause(t.Context())
	go func() {
		_, _ = writer.Write(noise(2 * mib))
		stop(errStop)
	}()
	if err := k.PutStream(ctx, silent, uriOf(t, filepath.Join(dir, "to"))); !errors.Is(err, errStop) {
		t.Errorf("interrupted: %v", err)
	}
	wantParts(t, dir, 0)
	if _, err := os.Stat(filepath.Join(dir, "to")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("there is a file: %v", err)
	}
}

// TestBrokenSource asserts that a stream that fails leaves nothing.
func TestBrokenSource(t *testing.T) {
	t.Parallel()
	k, dir := newKit(t), t.TempDir()
	errBroken := errors.New("broken")
	r := io.MultiReader(strings.NewReader("some"), errReader{errBroken})
	if err := k.PutStream(t.Context(), r, uriOf(t, filepath.Join(dir, "to"))); !errors.Is(err, errBroken) {
		t.Errorf("the source is broken: %v", err)
	}
	if left, err := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) { return 0, r.err }

func TestSave(t *testing.T) {
	t.Parallel()
	path := write(t, filepath.Join(t.TempDir(), "file"), []byte("old"))
	errBroken := errors.New("broken")
	err := Save(path, func(w io.Writer) error {
		_, _ = io.WriteString(w, "half")
		return errBroken
	})
	if !errors.Is(err, errBroken) {
		t.Errorf("what writes fails: %v", err)
	}
	wantFile(t, path, []byte("old"))
	err = Save(path, func(w io.Writer) error {
		_, err := io.WriteString(w, "new")
		return err
	})
	if err != nil {
		t.Error(err)
	}
	wantFile(t, path, []byte("new"))
	if err := Save(filepath.Join(path, "below"), func(io.Writer) error { return nil }); err == nil {
		t.Error("there is no such directory")
	}
}

func TestPartNames(t *testing.T) {
	t.Parallel()
	name := partName("file", "/a", 1, 2)
	for _, other := range []string{
		partName("file", "/b", 1, 2), partName("file", "/a", 2, 2), partName("file", "/a", 1, 3), partName("fil", "e/a", 1, 2),
	} {
		if other == name {
			t.Errorf("two sources have the part %s", name)
		}
	}
	if again := partName("file", "/a", 1, 2); again != name {
		t.Errorf("one source has the parts %s and %s", name, again)
	}
	if long := partName(strings.Repeat("x", 255), "/a", 1, 2); len(long) > 255 {
		t.Errorf("the part's name has %d bytes", len(long))
	}
}

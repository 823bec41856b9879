package files

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"runtime"
	"testing"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
)

// noise returns bytes that are the same in every run.
func noise(n int) []byte {
	data := make([]byte, n)
	rand.NewChaCha8([32]byte{}).Read(data)
	return data
}

func TestReadFile(t *testing.T) {
	f := connection(t)
	dir := folder(t)
	for _, size := range []int{0, 1, 2, 3, 4, pieceBytes - 1, pieceBytes, pieceBytes + 1, 3*pieceBytes + 2, sharedPieces * pieceBytes, 33*pieceBytes + 5} {
		data := noise(size)
		path := put(t, dir+"/f", string(data))
		got, err := readWhole(t.Context(), f, []byte("before"), &protocol.ReadFileParams{Path: uri(t, path)})
		must(t, err)
		want, err := protocol.Encode(&protocol.ReadFileResult{DataBase64: data})
		must(t, err)
		if !bytes.Equal(got, append([]byte("before"), want...)) {
			t.Errorf("%d bytes: the answer is not that of a result", size)
		}
	}
}

// TestReadFileThatShrinks: what is not there any more is left out, wherever the
// file ends now.
func TestReadFileThatShrinks(t *testing.T) {
	const size = 40 * pieceBytes
	data := noise(size)
	path := put(t, folder(t)+"/f", string(data))
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	must(t, err)
	defer file.Close()
	for _, left := range []int64{size, size - 1, 39 * pieceBytes, 20*pieceBytes + 7, 5, 0} {
		must(t, file.Truncate(left))
		dst := make([]byte, 0, 2*size)
		got, n, err := appendEncoded(t.Context(), dst, file, 0, size+1, size)
		must(t, err)
		if want := protocol.AppendBase64(nil, data[:left]); n != left || !bytes.Equal(got, want) {
			t.Errorf("%d bytes are left: got %d, or others", left, n)
		}
	}
}

// TestReadFileOfUnknownSize: some files have more in them than they say.
func TestReadFileOfUnknownSize(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is no /proc")
	}
	want, err := os.ReadFile("/proc/self/status")
	must(t, err)
	encoded, err := readWhole(t.Context(), connection(t), nil, &protocol.ReadFileParams{Path: uri(t, "/proc/self/status")})
	must(t, err)
	got := decode[protocol.ReadFileResult](t, encoded).DataBase64
	if name, _, _ := bytes.Cut(want, []byte("\n")); !bytes.HasPrefix(got, name) {
		t.Errorf("got %q, want it to begin with %q", got, name)
	}
}

// TestReadFileThatIsTooLarge: the size is known before anything is read.
func TestReadFileThatIsTooLarge(t *testing.T) {
	path := put(t, folder(t)+"/f", "")
	must(t, os.Truncate(path, limits.WholeFileBytes+1))
	before := []byte("before")
	got, err := readWhole(t.Context(), connection(t), before, &protocol.ReadFileParams{Path: uri(t, path)})
	check(t, "read", err, refused{protocol.CodeInvalidRequest, "file is too large to read: limit is 536870912 bytes"})
	if !bytes.Equal(got, before) {
		t.Errorf("got %q, want what was there before", got)
	}
}

func TestReadFileIsGivenUp(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got, err := readWhole(ctx, connection(t), nil, &protocol.ReadFileParams{Path: uri(t, put(t, folder(t)+"/f", "x"))})
	if !errors.Is(err, context.Canceled) || len(got) != 0 {
		t.Errorf("got %q and %v, want nothing and that it was cancelled", got, err)
	}
}

// TestReadFileHoldsItsEncoding: nothing else is held of a file.
func TestReadFileHoldsItsEncoding(t *testing.T) {
	const size = 32 << 20
	f := connection(t)
	path := put(t, folder(t)+"/f", "")
	must(t, os.Truncate(path, size))
	params := &protocol.ReadFileParams{Path: uri(t, path)}
	first, err := readWhole(t.Context(), f, nil, params)
	must(t, err)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	again, err := readWhole(t.Context(), f, first[:0], params)
	runtime.ReadMemStats(&after)
	must(t, err)
	if used := after.TotalAlloc - before.TotalAlloc; used > 1<<20 || &again[0] != &first[0] {
		t.Errorf("%d bytes have been allocated besides the buffer", used)
	}
}

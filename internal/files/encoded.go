package files

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"os"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/airlock-exec/airlock/protocol"
)

const (
	// pieceBytes is how much is read at a time: so little that it is still in the
	// processor's cache when it is encoded, and such that the encoding of a piece
	// needs no padding.
	pieceBytes = 96 << 10
	// sharedPieces is how many pieces there must be to be worth several goroutines,
	// and readers is how many these are at most.
	sharedPieces = 16
	readers      = 4
)

var pieces = sync.Pool{New: func() any { return new([pieceBytes]byte) }}

// appendEncoded reads up to most bytes of a file and appends them in base64. It
// returns how many there were, fewer than most only at the end of the file. For
// the first expected bytes there must be room behind dst.
func appendEncoded(ctx context.Context, dst []byte, file *os.File, offset, most, expected int64) (_ []byte, n int64, err error) {
	if whole := min(expected, most) / pieceBytes; whole >= sharedPieces {
		dst, n = appendShared(ctx, dst, file, offset, whole)
	}
	piece := pieces.Get().(*[pieceBytes]byte)
	defer pieces.Put(piece)
	for n < most {
		if err := ctx.Err(); err != nil {
			return dst, n, err
		}
		m, err := file.ReadAt(piece[:min(pieceBytes, most-n)], offset+n)
		n += int64(m)
		dst = protocol.AppendBase64(dst, piece[:m])
		switch {
		case errors.Is(err, io.EOF):
			return dst, n, nil
		case err != nil:
			return dst, n, err
		}
	}
	return dst, n, nil
}

// appendShared reads whole pieces of a file and appends them in base64, several at
// the same time. It stops before one that can't be read, or not whole.
func appendShared(ctx context.Context, dst []byte, file *os.File, offset, whole int64) (_ []byte, n int64) {
	encoded := int64(base64.StdEncoding.EncodedLen(pieceBytes))
	begin := int64(len(dst))
	var next, end atomic.Int64
	end.Store(whole)
	read := func() {
		piece := pieces.Get().(*[pieceBytes]byte)
		defer pieces.Put(piece)
		for i := next.Add(1) - 1; i < end.Load(); i = next.Add(1) - 1 {
			if n, _ := file.ReadAt(piece[:], offset+i*pieceBytes); n < pieceBytes || ctx.Err() != nil {
				lower(&end, i)
				return
			}
			at := begin + i*encoded
			protocol.AppendBase64(dst[:at:at+encoded], piece[:])
		}
	}
	var others sync.WaitGroup
	for range min(readers, runtime.GOMAXPROCS(0)) - 1 {
		others.Go(read)
	}
	read()
	others.Wait()
	return dst[:begin+end.Load()*encoded], end.Load() * pieceBytes
}

// lower makes a number smaller, unless it is already.
func lower(number *atomic.Int64, to int64) {
	for is := number.Load(); to < is; is = number.Load() {
		if number.CompareAndSwap(is, to) {
			return
		}
	}
}

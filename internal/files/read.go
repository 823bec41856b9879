package files

import (
	"context"
	"encoding/base64"
	"os"
	"runtime/debug"
	"slices"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/internal/sandbox"
	"github.com/airlock-exec/airlock/protocol"
)

// Reading is a file that is read whole. It must be closed.
type Reading struct {
	file *os.File
	size int64 // as it was
	gate *gate
	held int64 // what has been taken from the gate
}

// ReadFile opens a file to be read whole. If it is large it waits until there is
// room for what the result takes, but not for long.
func (f *Files) ReadFile(ctx context.Context, p *protocol.ReadFileParams) (*Reading, error) {
	file, err := openFor(ctx, f, protocol.MethodReadFile, p, p.Sandbox, sandbox.Read, OpenToRead)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return nil, err
	}
	r := &Reading{file: file, size: info.Size(), gate: &f.budget.large}
	if err := r.admit(ctx); err != nil {
		file.Close()
		return nil, err
	}
	return r, nil
}

// OpenToRead opens a file that is to be read whole.
func OpenToRead(p *protocol.ReadFileParams) (*os.File, error) {
	path, err := path(p.Path, p.Sandbox, sandbox.Read)
	if err != nil {
		return nil, err
	}
	place, err := locate(path, p.FollowSymlinks)
	if err != nil {
		return nil, err
	}
	defer place.Close()
	return place.open(openRead)
}

// admit waits for room.
func (r *Reading) admit(ctx context.Context) error {
	if r.size > limits.WholeFileBytes {
		return errTooLarge()
	}
	need := needed(r.size)
	if need == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limits.LargeReadWait, errCrowded())
	defer cancel()
	if err := r.gate.enter(ctx, need); err != nil {
		return err
	}
	r.held = need
	return nil
}

// needed returns how much the gate is asked for so that some bytes of a file can be
// encoded, and it be seen that there are no more of them. Nothing is needed for
// what is no larger than other answers.
func needed(bytes int64) int64 {
	if bytes < freeBytes {
		return 0
	}
	return int64(base64.StdEncoding.EncodedLen(int(bytes) + pieceBytes))
}

// freeBytes is what can be encoded without asking the gate: whole pieces that fill
// a frame.
const freeBytes = limits.FrameBytes / 4 * 3 / pieceBytes * pieceBytes

// Append reads the file and appends a [protocol.ReadFileResult]. It is called once.
func (r *Reading) Append(ctx context.Context, dst []byte) ([]byte, error) {
	begin := len(dst)
	dst = slices.Grow(dst, len(`{"dataBase64":""}`)+base64.StdEncoding.EncodedLen(int(r.size)))
	dst = append(dst, `{"dataBase64":"`...)
	// The size is what it was; some files have more in them than they say.
	for n, room := int64(0), max(r.size/pieceBytes*pieceBytes+pieceBytes, freeBytes); ; room += freeBytes {
		var m int64
		var err error
		dst, m, err = appendEncoded(ctx, dst, r.file, n, room-n, r.size-n)
		n += m
		switch {
		case err != nil:
			return dst[:begin], err
		case n > limits.WholeFileBytes:
			return dst[:begin], errTooLarge()
		case n < room:
			return append(dst, `"}`...), nil
		case !r.extend(room + freeBytes):
			return dst[:begin], errCrowded()
		}
	}
}

// extend takes more room, for a file that turns out to be larger.
func (r *Reading) extend(bytes int64) bool {
	need := needed(bytes)
	if !r.gate.widen(need - r.held) {
		return false
	}
	r.held = need
	return true
}

// Close closes the file, and gives the room back: it must be called when the result
// is not in memory any more.
func (r *Reading) Close() {
	r.file.Close()
	if r.held >= returnedBytes {
		debug.FreeOSMemory()
	}
	r.gate.leave(r.held)
}

// returnedBytes is how much is given back to the system at once. The runtime would
// keep it for minutes, and take as much again meanwhile.
const returnedBytes = 64 << 20

func errTooLarge() error {
	return protocol.Errorf(protocol.CodeInvalidRequest,
		"file is too large to read: limit is %d bytes", limits.WholeFileBytes)
}

// errCrowded answers who has waited too long for room.
func errCrowded() error {
	return protocol.Errorf(protocol.CodeInternal,
		"large files are being read whole that take up to %d bytes, which is as many as this executor allows; "+
			"read this one by blocks (fs/open), or try again later", limits.LargeReadBytes)
}

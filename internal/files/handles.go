package files

import (
	"context"
	"errors"
	"math"
	"os"
	"syscall"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/internal/sandbox"
	"github.com/airlock-exec/airlock/protocol"
)

// handle is an open file, or one that is being opened.
type handle struct{ file *os.File } // nil while it is being opened

// Open opens a file to be read or written by blocks.
func (f *Files) Open(ctx context.Context, p *protocol.OpenFileParams) (*protocol.OpenFileResult, error) {
	if err := checkHandleID(p.HandleID); err != nil {
		return nil, err
	}
	h, err := f.reserve(p.HandleID)
	if err != nil {
		return nil, err
	}
	file, err := openFor(ctx, f, protocol.MethodOpenFile, p, p.Sandbox, BlocksAccess(p), OpenBlocks)
	if err != nil {
		f.drop(p.HandleID, h)
		return nil, err
	}
	if !f.fill(p.HandleID, h, file) {
		file.Close()
		return nil, protocol.Errorf(protocol.CodeInvalidRequest,
			"file handle `%s` was closed while it was being opened", p.HandleID)
	}
	return &protocol.OpenFileResult{HandleID: p.HandleID}, nil
}

// BlocksAccess returns what is done to a file that is opened.
func BlocksAccess(p *protocol.OpenFileParams) sandbox.Access {
	if p.Mode == protocol.OpenReplace {
		return sandbox.Write
	}
	return sandbox.Read
}

// OpenBlocks opens a file to be read or written by blocks.
func OpenBlocks(p *protocol.OpenFileParams) (*os.File, error) {
	path, err := path(p.Path, p.Sandbox, BlocksAccess(p))
	if err != nil {
		return nil, err
	}
	place := &place{name: path, path: path, follow: true}
	flags := openRead
	if p.Mode == protocol.OpenReplace {
		if p.Airlock == nil || !p.Airlock.Keep {
			return place.create()
		}
		flags = openWrite
	}
	return place.open(flags)
}

// AppendReadBlock reads a part of an open file and appends a
// [protocol.ReadBlockResult]. A file that can't be read is closed.
func (f *Files) AppendReadBlock(ctx context.Context, dst []byte, p *protocol.ReadBlockParams) ([]byte, error) {
	if err := checkHandleID(p.HandleID); err != nil {
		return dst, err
	}
	if p.Len < 1 || p.Len > limits.FileBlockBytes {
		return dst, protocol.Errorf(protocol.CodeInvalidRequest,
			"file read block length must be between 1 and %d", limits.FileBlockBytes)
	}
	h, err := f.lookup(p.HandleID)
	if err != nil {
		return dst, err
	}
	begin := len(dst)
	dst = append(dst, `{"chunk":"`...)
	dst, n, err := h.appendBlock(ctx, dst, p.Offset, int64(p.Len))
	switch {
	case ctx.Err() != nil:
		return dst[:begin], ctx.Err()
	case errors.Is(err, os.ErrClosed):
		return dst[:begin], errUnknown(p.HandleID)
	case err != nil:
		f.drop(p.HandleID, h)
		return dst[:begin], err
	case n < int64(p.Len):
		return append(dst, `","eof":true}`...), nil
	}
	return append(dst, `","eof":false}`...), nil
}

func (h *handle) appendBlock(ctx context.Context, dst []byte, offset uint64, most int64) ([]byte, int64, error) {
	if offset > math.MaxInt64 {
		return dst, 0, syscall.EINVAL
	}
	return appendEncoded(ctx, dst, h.file, int64(offset), most, 0)
}

// WriteBlock writes a part of an open file.
func (f *Files) WriteBlock(_ context.Context, p *protocol.WriteBlockParams) (*protocol.WriteBlockResult, error) {
	size := len(p.Chunk)
	switch err := checkHandleID(p.HandleID); {
	case err != nil:
		return nil, err
	case size < 1 || size > limits.FileBlockBytes:
		return nil, protocol.Errorf(protocol.CodeInvalidRequest,
			"file write block length must be between 1 and %d", limits.FileBlockBytes)
	case p.Offset > math.MaxInt64-uint64(size):
		return nil, protocol.Errorf(protocol.CodeInvalidRequest,
			"file write range exceeds the signed 64-bit file offset limit")
	}
	h, err := f.lookup(p.HandleID)
	if err != nil {
		return nil, err
	}
	switch _, err := h.file.WriteAt(p.Chunk, int64(p.Offset)); {
	case errors.Is(err, os.ErrClosed):
		return nil, errUnknown(p.HandleID)
	case err != nil:
		return nil, err
	}
	return &protocol.WriteBlockResult{}, nil
}

// CloseFile closes an open file, if there is one. A block that is being read or
// written is finished first, which is not waited for.
func (f *Files) CloseFile(_ context.Context, p *protocol.CloseFileParams) (*protocol.CloseFileResult, error) {
	if err := checkHandleID(p.HandleID); err != nil {
		return nil, err
	}
	f.mu.Lock()
	h := f.handles[p.HandleID]
	f.mu.Unlock()
	if h != nil {
		f.drop(p.HandleID, h)
	}
	return &protocol.CloseFileResult{}, nil
}

func checkHandleID(id string) error {
	if len(id) > limits.HandleIDBytes {
		return protocol.Errorf(protocol.CodeInvalidRequest,
			"file handle ID must not exceed %d bytes", limits.HandleIDBytes)
	}
	return nil
}

func errUnknown(id string) error {
	return protocol.Errorf(protocol.CodeNotFound, "unknown file handle `%s`", id)
}

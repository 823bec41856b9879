package search

import (
	"bytes"
	"context"
	"io"
	"slices"

	"github.com/airlock-exec/airlock/internal/files/fault"
	"github.com/airlock-exec/airlock/internal/files/regular"
	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/internal/sandbox"
	"github.com/airlock-exec/airlock/protocol"
)

// ReadRange answers airlock/fsReadRange. To find a line all that is before it is
// read, in little memory, until the context ends. Errors are as they travel.
func ReadRange(ctx context.Context, p *protocol.ReadRangeParams) (*protocol.ReadRangeResult, error) {
	if err := checkRange(p); err != nil {
		return nil, err
	}
	if err := sandbox.CheckFiles(p.Sandbox, sandbox.Read); err != nil {
		return nil, err
	}
	path, err := fault.Native(p.Path)
	if err != nil {
		return nil, err
	}
	f, err := openNamed(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var result *protocol.ReadRangeResult
	if p.Bytes != nil {
		result, err = readBytes(f, int64(p.Bytes.Offset), int(p.Bytes.Length))
	} else {
		result, err = readLines(ctx, f, p.Lines.First, p.Lines.Count)
	}
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, fault.Wire(err)
	}
	return result, nil
}

func checkRange(p *protocol.ReadRangeParams) error {
	switch {
	case (p.Bytes == nil) == (p.Lines == nil):
		return invalid("either bytes or lines must be given, and not both")
	case p.Bytes != nil && (p.Bytes.Length < 1 || p.Bytes.Length > limits.ReadRangeBytes):
		return invalid("bytes.length must be between 1 and %d", limits.ReadRangeBytes)
	case p.Bytes != nil && p.Bytes.Offset > mostOffset:
		return invalid("bytes.offset is beyond the end of what a file can have")
	case p.Lines != nil && p.Lines.First < 1:
		return invalid("lines.first must be at least 1, which is the first line")
	case p.Lines != nil && p.Lines.Count < 1:
		return invalid("lines.count must be at least 1")
	}
	return nil
}

// openNamed opens a file that a client names.
func openNamed(path string) (*regular.File, error) {
	f, err := regular.Open(path)
	switch {
	case err == regular.ErrNotRegular:
		return nil, notFile(path)
	case err != nil:
		return nil, fault.Wire(err)
	}
	return f, nil
}

func readBytes(f *regular.File, offset int64, length int) (*protocol.ReadRangeResult, error) {
	r := reader{file: f, offset: offset}
	if err := r.readTo(length); err != nil {
		return nil, err
	}
	return r.result(min(length, len(r.data)))
}

func readLines(ctx context.Context, f *regular.File, first, count uint64) (*protocol.ReadRangeResult, error) {
	offset, err := findLine(ctx, f, first)
	if err != nil {
		return nil, err
	}
	r := reader{file: f, offset: offset}
	end, step := 0, blockBytes/8
	for count > 0 && !r.eof && len(r.data) < limits.ReadRangeBytes {
		if err := r.readTo(min(len(r.data)+step, limits.ReadRangeBytes)); err != nil {
			return nil, err
		}
		n, left := skipLines(r.data[end:], count)
		end, count = end+n, left
		step = len(r.data)
	}
	if count > 0 {
		end = len(r.data)
	}
	result, err := r.result(end)
	if err != nil {
		return nil, err
	}
	result.Truncated = count > 0 && !result.EOF
	return result, nil
}

// findLine returns where a line begins, or where the file ends.
func findLine(ctx context.Context, f *regular.File, number uint64) (int64, error) {
	block := blocks.Get().(*[blockBytes]byte)
	defer blocks.Put(block)
	offset, before := int64(0), number-1
	for before > 0 {
		n, err := f.ReadAt(block[:], offset)
		if err != nil && err != io.EOF {
			return 0, err
		}
		data := block[:n]
		if feeds := lineFeeds(data); feeds < before {
			before -= feeds
			offset += int64(n)
		} else {
			var skipped int
			skipped, before = skipLines(data, before)
			offset += int64(skipped)
		}
		if err == io.EOF || ctx.Err() != nil {
			break
		}
	}
	return offset, ctx.Err()
}

// skipLines returns how long so many lines are, and how many are missing. What
// does not end with a line feed is no line yet.
func skipLines(data []byte, lines uint64) (length int, missing uint64) {
	for ; lines > 0; lines-- {
		i := bytes.IndexByte(data[length:], '\n')
		if i < 0 {
			break
		}
		length += i + 1
	}
	return length, lines
}

// reader gathers what is in a file from an offset on.
type reader struct {
	file   *regular.File
	offset int64
	data   []byte
	eof    bool
}

// readTo reads until there is so much data, or the file ends.
func (r *reader) readTo(length int) error {
	r.data = slices.Grow(r.data, length-len(r.data))
	for len(r.data) < length && !r.eof {
		n, err := r.file.ReadAt(r.data[len(r.data):length], r.offset+int64(len(r.data)))
		r.data = r.data[:len(r.data)+n]
		if r.eof = err == io.EOF; err != nil && !r.eof {
			return err
		}
	}
	return nil
}

// result returns the data up to a length, and finds out whether the file ends
// there.
func (r *reader) result(length int) (*protocol.ReadRangeResult, error) {
	if length == len(r.data) && !r.eof {
		if err := r.readTo(length + 1); err != nil {
			return nil, err
		}
	}
	return &protocol.ReadRangeResult{
		DataBase64: r.data[:length:length],
		Offset:     uint64(r.offset),
		EOF:        r.eof && length == len(r.data),
	}, nil
}

package client

import (
	"context"
	"errors"
	"iter"

	"github.com/airlock-exec/airlock/protocol"
)

// ReadBytes reads up to 1 MiB of a file, from an offset on. The error wraps
// errors.ErrUnsupported if the executor can't do that; [Files.Open] reads parts of
// files from any.
func (f *Files) ReadBytes(ctx context.Context, path protocol.PathURI, offset, length int64) (*protocol.ReadRangeResult, error) {
	return f.readRange(ctx, &protocol.ReadRangeParams{
		Path:  path,
		Bytes: &protocol.ByteRange{Offset: uint64(max(offset, 0)), Length: uint64(max(length, 0))},
	})
}

// ReadLines reads lines of a file, of which the first is line 1, up to 1 MiB. The
// error wraps errors.ErrUnsupported if the executor can't do that.
func (f *Files) ReadLines(ctx context.Context, path protocol.PathURI, first, count int64) (*protocol.ReadRangeResult, error) {
	return f.readRange(ctx, &protocol.ReadRangeParams{
		Path:  path,
		Lines: &protocol.LineRange{First: uint64(max(first, 0)), Count: uint64(max(count, 0))},
	})
}

func (f *Files) readRange(ctx context.Context, params *protocol.ReadRangeParams) (*protocol.ReadRangeResult, error) {
	if err := f.executor.lacks("reading a range", protocol.FeatureFSReadRange); err != nil {
		return nil, f.pathError("read", params.Path, err)
	}
	return ofPath[protocol.ReadRangeResult](ctx, f, "read", params.Path, protocol.MethodReadRange, params)
}

// Search looks for text in the files below a directory, or in one file, and
// returns the matches in the order of their paths and lines. If params.MaxMatches
// is set, that many are asked for at a time: it is for who wants the first ones
// soon. An error about one path that can't be looked at is an element of its own,
// with a match that has only that path; after any other error there is nothing.
//
// The error wraps errors.ErrUnsupported if the executor can't do that.
func (f *Files) Search(ctx context.Context, params protocol.SearchParams) iter.Seq2[protocol.SearchMatch, error] {
	return func(yield func(protocol.SearchMatch, error) bool) {
		if err := f.executor.lacks("searching", protocol.FeatureFSSearch); err != nil {
			yield(protocol.SearchMatch{}, f.pathError("search", params.Path, err))
			return
		}
		for more := true; more; {
			page, err := ofPath[protocol.SearchResult](ctx, f, "search", params.Path, protocol.MethodSearch, &params)
			if err != nil {
				yield(protocol.SearchMatch{}, err)
				return
			}
			for _, match := range page.Matches {
				if !yield(match, nil) {
					return
				}
			}
			for _, e := range page.Errors {
				if !yield(protocol.SearchMatch{Path: e.Path}, f.told("search", e)) {
					return
				}
			}
			more = page.Next != nil
			if more && params.After != nil && *params.After == *page.Next {
				yield(protocol.SearchMatch{}, f.pathError("search", params.Path, errEndless))
				return
			}
			params.After = page.Next
		}
	}
}

// told is the error about a path that a listing tells.
func (f *Files) told(op string, e protocol.WalkError) error {
	answered := &protocol.Error{Code: protocol.CodeInternal, Message: e.Message}
	return f.pathError(op, e.Path, answered)
}

// errEndless ends what would ask the same over and over again.
var errEndless = errors.New("the executor's answer does not get on")

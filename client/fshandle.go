package client

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"sync/atomic"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
)

// handle is what an executor knows an open file by, over one connection.
type handle struct {
	link *link
	id   string
}

// opened is a file that is open over one connection after the other.
type opened struct {
	executor *executor
	params   protocol.OpenFileParams
	// check, if set, judges a file that is open anew, before it is used.
	check func(ctx context.Context) error
	// again, if set, changes params for when the file is opened anew; the error
	// says that this can't be.
	again func(params *protocol.OpenFileParams) error

	closed  atomic.Bool   // nobody uses it any more
	turn    chan struct{} // holds a token while what follows is looked at or changed
	current *handle       // the newest one
	failed  error         // why there will be no other
}

func newOpened(e *executor, params protocol.OpenFileParams) *opened {
	return &opened{executor: e, params: params, turn: make(chan struct{}, 1)}
}

// handle returns one other than the one before, whose connection is lost; nil is
// before the first one.
func (o *opened) handle(ctx context.Context, before *handle) (*handle, error) {
	select {
	case o.turn <- struct{}{}:
		defer func() { <-o.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	switch {
	case o.closed.Load():
		return nil, fs.ErrClosed
	case o.failed != nil:
		return nil, o.failed
	case o.current != before:
		return o.current, nil
	case o.current != nil && o.again != nil:
		if o.failed = o.again(&o.params); o.failed != nil {
			return nil, o.failed
		}
	}
	h, err := o.open(ctx)
	if err != nil {
		return nil, err
	}
	if o.current != nil && o.check != nil {
		if err := o.check(ctx); err != nil {
			h.close(ctx)
			if errors.Is(err, ErrFileChanged) {
				o.failed = err
			}
			return nil, err
		}
	}
	if o.closed.Load() {
		h.close(ctx)
		return nil, fs.ErrClosed
	}
	o.current = h
	return h, nil
}

// open opens the file over a connection that comes after the one used before.
func (o *opened) open(ctx context.Context) (*handle, error) {
	var l *link
	if o.current != nil {
		l = o.current.link
	}
	var broken strikes
	for {
		var err error
		if l, err = o.executor.connected(ctx, l); err != nil {
			return nil, fmt.Errorf("calling %s: %w", protocol.MethodOpenFile, err)
		}
		h := &handle{l, o.executor.handleID()}
		lost, err := h.open(ctx, o.params)
		if !lost || broken.out(err) {
			return h, err
		}
	}
}

// handleID makes an id that no other file has over the same connection.
func (e *executor) handleID() string {
	return "file-" + strconv.FormatUint(e.lastID.Add(1), 36)
}

// open opens the file. If ctx ends on the way it is closed as soon as it is open.
func (h *handle) open(ctx context.Context, params protocol.OpenFileParams) (lost bool, err error) {
	params.HandleID = h.id
	_, lost, err = askOrUndo[protocol.OpenFileResult](ctx, h.link, protocol.MethodOpenFile, &params, h.close)
	return lost, err
}

// close closes the file, if its connection is not over, and also when ctx is.
func (h *handle) close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limits.HandleCloseTimeout)
	defer cancel()
	// A file that can't be closed is closed with its connection.
	_, _, _ = ask[protocol.CloseFileResult](ctx, h.link, protocol.MethodCloseFile,
		&protocol.CloseFileParams{HandleID: h.id})
}

// close closes the file for good. Whoever opens it anew at that moment closes it
// again, and is waited for.
func (o *opened) close(ctx context.Context) {
	o.closed.Store(true)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limits.HandleCloseTimeout)
	defer cancel()
	select {
	case o.turn <- struct{}{}:
		defer func() { <-o.turn }()
	case <-ctx.Done():
		return
	}
	if o.current != nil {
		o.current.close(ctx)
	}
}

// askFile makes a request about an open file, over as many connections as it takes.
func askFile[R any](ctx context.Context, o *opened, method string, params func(handleID string) any) (*R, error) {
	var before *handle
	var broken strikes
	h, err := o.handle(ctx, before)
	for ; err == nil; h, err = o.handle(ctx, before) {
		result, lost, err := ask[R](ctx, h.link, method, params(h.id))
		if !lost || broken.out(err) {
			return result, err
		}
		before = h
	}
	return nil, err
}

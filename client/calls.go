package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/airlock-exec/airlock/internal/rpc"
	"github.com/airlock-exec/airlock/internal/transport"
	"github.com/airlock-exec/airlock/protocol"
)

// probeTime is how long a call waits until it is asked whether there is still
// somebody to answer.
const probeTime = 5 * time.Second

// connected waits for a connection, other than the one before, and returns it.
func (e *executor) connected(ctx context.Context, before *link) (*link, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for {
		switch {
		case e.err != nil:
			return nil, e.err
		case e.link != nil && e.link != before:
			return e.link, nil
		}
		if err := e.news.await(ctx, &e.mu); err != nil {
			return nil, err
		}
	}
}

// errNoAnswer means that the executor has answered, and not what was asked.
var errNoAnswer = errors.New("the executor's answer makes no sense")

// ask makes a request on one connection and decodes the answer. It tells
// whether the connection was lost before that came.
func ask[R any](ctx context.Context, l *link, method string, params any) (result *R, lost bool, err error) {
	probe := time.AfterFunc(probeTime, l.rpc.Probe)
	defer probe.Stop()
	raw, err := l.rpc.Call(ctx, method, params)
	switch {
	case err == nil:
	case refusal(err) != nil || errors.Is(err, rpc.ErrBadAnswer):
		return nil, false, err
	case ctx.Err() != nil: // whatever has become of the connection
		return nil, false, fmt.Errorf("calling %s: %w", method, context.Cause(ctx))
	default:
		if _, faulty := protocol.Encode(params); faulty != nil {
			return nil, false, err
		}
		return nil, true, err
	}
	decoded, err := protocol.Decode[R](raw)
	if err != nil {
		// Not an error that the executor answered.
		return nil, false, fmt.Errorf("%w: calling %s: %s", errNoAnswer, method, err.Error())
	}
	return &decoded, false, nil
}

// strikes counts the connections that ended while a call waited for its answer, as
// the executor broke the rules: that may have been the answer, which would come again.
type strikes int

// out tells whether a call that has lost one more connection is to fail.
func (s *strikes) out(err error) bool {
	for _, broken := range []error{transport.ErrMessageTooBig, transport.ErrInvalidUTF8, transport.ErrViolation} {
		if errors.Is(err, broken) {
			*s++
		}
	}
	return *s >= 2
}

// call makes a request that may be made more than once, until it is answered.
func call[R any](ctx context.Context, e *executor, method string, params any) (*R, error) {
	result, err := request[R](ctx, e, method, params)
	return result, classify(err)
}

// request is call with the error as it was answered.
func request[R any](ctx context.Context, e *executor, method string, params any) (*R, error) {
	var l *link
	var broken strikes
	for {
		var err error
		if l, err = e.connected(ctx, l); err != nil {
			return nil, fmt.Errorf("calling %s: %w", method, err)
		}
		result, lost, err := ask[R](ctx, l, method, params)
		if !lost || broken.out(err) {
			return result, err
		}
	}
}

// callOnce makes a request that must not be made twice.
func callOnce[R any](ctx context.Context, e *executor, method string, params any) (*R, error) {
	result, err := requestOnce[R](ctx, e, method, params)
	return result, classify(err)
}

// requestOnce is callOnce with the error as it was answered.
func requestOnce[R any](ctx context.Context, e *executor, method string, params any) (*R, error) {
	l, err := e.connected(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("calling %s: %w", method, err)
	}
	result, lost, err := ask[R](ctx, l, method, params)
	if lost {
		return nil, fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
	}
	return result, err
}

package client

import "context"

// askOrUndo is ask for what holds something in the executor: if ctx ends first, undo
// is called once that is known to be held, in the background.
func askOrUndo[R any](ctx context.Context, l *link, method string, params any, undo func(context.Context)) (result *R, lost bool, err error) {
	type outcome struct {
		result *R
		lost   bool
		err    error
	}
	answered := make(chan outcome)
	asking := context.WithoutCancel(ctx)
	err = l.executor.background(func() {
		result, lost, err := ask[R](asking, l, method, params)
		select {
		case answered <- outcome{result, lost, err}:
		case <-ctx.Done():
			if err == nil {
				undo(asking)
			}
		}
	})
	if err != nil {
		return nil, false, err
	}
	select {
	case o := <-answered:
		return o.result, o.lost, o.err
	case <-ctx.Done():
		return nil, false, context.Cause(ctx)
	}
}

// background runs what ends by itself when the connection does. [executor.Close]
// waits for it.
func (e *executor) background(job func()) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.err != nil {
		return e.err
	}
	e.owned.Go(job) // run, which ends behind err, is still owned
	return nil
}

package client

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/internal/transport"
	"github.com/airlock-exec/airlock/protocol"
)

// executor implements [Executor]. One goroutine owns its connections, of which
// there is one at a time.
type executor struct {
	connector Connector
	options   Options
	writer    string        // begins our write ids: other clients have others
	lastID    atomic.Uint64 // of what a connection knows by ids of ours
	sessionID string
	stop      context.CancelCauseFunc
	owned     sync.WaitGroup
	watchers  watchers
	missing   missingWatch
	streams   streams

	mu        sync.Mutex
	news      news  // link or err has changed
	link      *link // nil while there is none
	info      *protocol.EnvironmentInfo
	err       error               // why there will be none any more
	processes map[string]*Process // those that something may still be told of
}

// connect opens a session and sees to it that it goes on.
func connect(ctx context.Context, connector Connector, options Options) (*executor, error) {
	life, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	e := &executor{
		connector: connector, options: options, stop: stop,
		writer: rand.Text()[:10], sessionID: options.ResumeSessionID,
		processes: map[string]*Process{},
	}
	first, err := e.open(ctx, life, options.Takeover)
	if err != nil {
		stop(nil)
		return nil, err
	}
	e.sessionID = first.session.SessionID
	e.use(first)
	e.owned.Go(func() { e.run(life, first) })
	return e, nil
}

// open makes a connection, which lives as long as life, and opens or resumes
// the session on it.
func (e *executor) open(ctx, life context.Context, takeover bool) (*link, error) {
	connecting, cancel := context.WithTimeout(ctx, limits.ConnectTimeout)
	defer cancel()
	conn, err := e.connector.Connect(connecting)
	if err != nil {
		return nil, fmt.Errorf("connecting to the executor: %w", err)
	}
	l := newLink(e, conn)
	e.resumed() // before anything is told over the connection
	l.serve(life)
	params := &protocol.InitializeParams{
		ClientName: e.options.Name,
		Airlock:    &protocol.InitializeExtra{Takeover: takeover, Window: windowBytes},
	}
	what := "opening"
	if e.sessionID != "" {
		params.ResumeSessionID = &e.sessionID
		what = "resuming"
	}
	if err := l.handshake(ctx, params); err != nil {
		l.close(err)
		return nil, fmt.Errorf("%s a session: %w", what, err)
	}
	return l, nil
}

// use lets calls go over a connection.
func (e *executor) use(l *link) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.link = l
	e.info = &l.session.EnvironmentInfo
	e.news.tell()
}

// run keeps the session connected until ctx ends or that can't be done.
func (e *executor) run(ctx context.Context, l *link) {
	for {
		l.serving.Wait()
		e.mu.Lock()
		e.link = nil
		e.mu.Unlock()
		next, err := e.reconnect(ctx, l.err)
		if err != nil {
			e.end(err)
			return
		}
		l = next
		e.use(l)
		if !l.paced.Load() {
			e.catchUp(ctx)
		}
		e.notify(nil)
	}
}

func (e *executor) notify(lost error) {
	if e.options.OnConnection != nil {
		e.options.OnConnection(lost)
	}
}

// resumed tells every process that what has happened since the connection
// before has to be read.
func (e *executor) resumed() {
	for _, p := range e.all() {
		p.inbox.resumed()
	}
}

// catchUp has what has been missed read at once: an executor that does not pace
// itself has soon dropped it.
func (e *executor) catchUp(ctx context.Context) {
	for _, p := range e.all() {
		if p.inbox.beginReading() {
			e.owned.Go(func() {
				defer p.inbox.endReading()
				_ = p.catchUp(ctx) // what has failed is done again by who needs it
			})
		}
	}
}

// end lets everything that waits fail.
func (e *executor) end(err error) {
	e.mu.Lock()
	e.err = err
	e.news.tell()
	e.mu.Unlock()
	for _, p := range e.all() {
		p.inbox.end(err)
	}
}

// Close implements [Executor].
func (e *executor) Close() error {
	e.stop(ErrDisconnected)
	e.owned.Wait()
	return nil
}

// Info implements [Executor].
func (e *executor) Info() *protocol.EnvironmentInfo {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.info
}

// SessionID implements [Executor].
func (e *executor) SessionID() string { return e.sessionID }

// Status implements [Executor].
func (e *executor) Status(ctx context.Context) (*protocol.EnvironmentStatus, error) {
	return call[protocol.EnvironmentStatus](ctx, e, protocol.MethodEnvironmentStatus, struct{}{})
}

// Process implements [Executor].
func (e *executor) Process(id string) *Process {
	e.mu.Lock()
	defer e.mu.Unlock()
	p := e.processes[id]
	if p == nil || p.inbox.isClosed() { // and about to be forgotten
		p = newProcess(e, id)
		p.inbox.err = e.err
		e.processes[id] = p
	}
	return p
}

func (e *executor) forget(p *Process) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.processes[p.id] == p {
		delete(e.processes, p.id)
	}
}

func (e *executor) find(id string) *Process {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.processes[id]
}

func (e *executor) all() []*Process {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := make([]*Process, 0, len(e.processes))
	for _, p := range e.processes {
		all = append(all, p)
	}
	return all
}

// isGone tells whether a connector will never connect again.
func isGone(err error) bool { return errors.Is(err, transport.ErrGoingAway) }

package watch

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
)

// WatchMissing answers fs/watchMissing. The notification follows once begin has been
// called, which must be when the answer has been queued. The error is that the
// context or the connection has ended.
func (ws *Watches) WatchMissing(ctx context.Context, p *protocol.WatchMissingParams) (result *protocol.WatchMissingResult, begin func(), err error) {
	run, leave, err := ws.enter(context.WithoutCancel(ctx))
	if err != nil {
		return nil, nil, err
	}
	m := &missing{id: p.WatchID, in: newInbox(), begun: make(chan struct{}), done: make(chan struct{})}
	run, m.cancel = context.WithCancel(run)
	end := func() {
		m.cancel()
		close(m.done)
		leave()
	}
	stay := context.AfterFunc(ctx, m.cancel)
	watching, err := ws.replace(run, m, p)
	if !stay() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil && watching {
		m.release()
	}
	if err != nil || !watching {
		end()
		return &protocol.WatchMissingResult{}, func() {}, err
	}
	go func() {
		defer end()
		m.run(run, ws.config.MissingChanged)
	}()
	return &protocol.WatchMissingResult{Watching: true}, sync.OnceFunc(func() { close(m.begun) }), nil
}

// replace ends the watch before and opens another one, whose id must be greater. It
// reports whether that watches.
func (ws *Watches) replace(ctx context.Context, m *missing, p *protocol.WatchMissingParams) (watching bool, err error) {
	select {
	case ws.turn <- struct{}{}:
		defer func() { <-ws.turn }()
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
	old, newer := ws.supersede(m)
	if !newer {
		return false, nil
	}
	if old != nil {
		old.cancel()
		if !wait(ctx, old.done) {
			return false, context.Cause(ctx)
		}
	}
	if m.hub, err = ws.acquire(); err != nil {
		return false, nil // the client has to do without
	}
	return m.open(p), nil
}

// supersede puts a watch in the place of the one before, if its id is greater than
// all before.
func (ws *Watches) supersede(m *missing) (old *missing, newer bool) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if m.id <= ws.lastID {
		return nil, false
	}
	old, ws.missing, ws.lastID = ws.missing, m, m.id
	return old, true
}

// missing is a watch of paths that do not exist.
type missing struct {
	id     uint64
	hub    *hub
	in     *inbox
	posts  []*post
	placed map[step]bool
	begun  chan struct{} // closed when it may be told
	cancel context.CancelFunc
	done   chan struct{} // closed when nothing is told any more
}

// open begins to watch, and reports false if there is nothing to wait for.
func (m *missing) open(p *protocol.WatchMissingParams) bool {
	if len(p.Missing) == 0 || len(p.Missing) > limits.MissingPaths {
		return false
	}
	m.hub.join(m.in)
	m.placed = map[step]bool{}
	ok := p.Present == nil || m.place(*p.Present, true)
	for _, uri := range p.Missing {
		ok = ok && m.place(uri, false)
	}
	if !ok {
		m.release()
	}
	return ok
}

func (m *missing) release() {
	m.hub.remove(m.posts...)
	m.hub.leave(m.in)
}

// place watches the components of a path up to the first one that is missing, in
// the directories that they are in. It reports false if the path is there and
// should not be, or the other way round, and if it can't be watched: what is above
// is no directory, can't be looked into, or is a symbolic link, which may lead
// elsewhere without any change here.
func (m *missing) place(uri protocol.PathURI, present bool) bool {
	path, err := uri.Native()
	if err != nil {
		return false
	}
	list := steps(path)
	for i, s := range list {
		before, err := look(s)
		gone := errors.Is(err, fs.ErrNotExist)
		last := i == len(list)-1
		if err != nil && !gone {
			return false
		}
		if (chains || gone || last) && !m.post(s) {
			return false
		}
		// It may have changed before it was watched.
		after, err := look(s)
		switch {
		case gone:
			return !present && errors.Is(err, fs.ErrNotExist)
		case err != nil || !os.SameFile(before, after) || after.Mode()&fs.ModeSymlink != 0:
			return false
		case !last && !after.IsDir():
			return false
		}
	}
	return present
}

func look(s step) (fs.FileInfo, error) { return os.Lstat(filepath.Join(s.dir, s.name)) }

// post watches a name in a directory.
func (m *missing) post(s step) bool {
	if m.placed[s] {
		return true
	}
	if len(m.posts) >= limits.MissingDirectories {
		return false
	}
	dir, err := openDir(s.dir, false)
	if err != nil {
		return false
	}
	defer dir.Close()
	p := &post{in: m.in, only: s.name}
	if m.hub.add(dir, p) != nil {
		return false
	}
	m.posts = append(m.posts, p)
	m.placed[s] = true
	return true
}

// run waits for the first thing that happens, gives it a moment to be complete, and
// tells of it.
func (m *missing) run(ctx context.Context, changed func(*protocol.MissingChangedNotification) error) {
	happened := wait(ctx, m.in.news)
	m.release()
	if happened && pause(ctx, limits.MissingDelay) && wait(ctx, m.begun) {
		_ = changed(&protocol.MissingChangedNotification{WatchID: m.id}) // fails if nobody is there
	}
}

package search

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/airlock-exec/airlock/internal/files/fault"
	"github.com/airlock-exec/airlock/internal/files/regular"
	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/internal/sandbox"
	"github.com/airlock-exec/airlock/internal/turns"
	"github.com/airlock-exec/airlock/protocol"
)

// places are for the searches that are at work at the same time.
var places = turns.New(limits.Searches, limits.TurnPatience)

// Turn waits for a place among the searches that are at work, also of those that
// somebody else carries out. It is given back by done, which must be called once.
func Turn(ctx context.Context) (done func(), err error) { return places.Take(ctx) }

// Search answers airlock/fsSearch. It waits for its turn, and then takes
// [limits.SearchTime] or not much longer. Errors are as they travel.
func Search(ctx context.Context, p *protocol.SearchParams) (*protocol.SearchResult, error) {
	q, err := newQuery(p)
	if err != nil {
		return nil, err
	}
	from, err := q.resume(p.After)
	if err != nil {
		return nil, err
	}
	if err := sandbox.CheckFiles(p.Sandbox, sandbox.Read); err != nil {
		return nil, err
	}
	root, err := fault.Native(p.Path)
	if err != nil {
		return nil, err
	}
	done, err := places.Take(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	end := time.Now().Add(limits.SearchTime)
	s := &search{query: q, root: root, from: from, over: func() bool { return time.Now().After(end) }}
	return s.run(ctx)
}

// search is the work for one page.
type search struct {
	*query
	root string
	from position
	over func() bool  // tells whether the time is up
	held atomic.Int64 // bytes of what has been found and not been taken
}

// run makes the page.
func (s *search) run(ctx context.Context) (*protocol.SearchResult, error) {
	info, err := os.Stat(s.root)
	switch {
	case err != nil:
		return nil, fault.Wire(err)
	case !info.IsDir() && !info.Mode().IsRegular():
		return nil, notFile(s.root)
	}
	ahead, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()

	w := newWalk(s)
	for range min(runtime.GOMAXPROCS(0), limits.SearchWorkers) {
		running.Go(func() { w.work(ahead) })
	}
	running.Go(func() { w.run(ahead, info) })
	page := page{search: s}
	if err := page.fill(ctx, w.jobs); err != nil {
		return nil, err
	}
	return page.result(), nil
}

// native returns the path of what is below the root, on this system.
func (s *search) native(rel string) string {
	if rel == "" {
		return s.root
	}
	return filepath.Join(s.root, filepath.FromSlash(rel))
}

func notFile(path string) *protocol.Error {
	return protocol.Errorf(protocol.CodeInvalidRequest, "path `%s` is not a file", path)
}

// changed are the errors of what is no longer there, or has become something else
// since it was listed: others may change the tree, and that is no news.
var changed = []error{fs.ErrNotExist, regular.ErrNotRegular, syscall.ENOTDIR, syscall.ELOOP, syscall.ENXIO}

// problem says why something could not be looked at, if that is news.
func problem(err error) string {
	if slices.ContainsFunc(changed, func(target error) bool { return errors.Is(err, target) }) {
		return ""
	}
	return fault.Text(err)
}

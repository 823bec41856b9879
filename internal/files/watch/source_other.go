//go:build !linux

package watch

import (
	"errors"
	"os"
	"path/filepath"
	"sync"

	"github.com/fsnotify/fsnotify"
)

// chains says that it costs little to watch all directories above a path: not
// here, where each file in them takes a descriptor.
const chains = false

// key is the path of a directory.
type key = string

// source is the watcher of package fsnotify.
type source struct {
	watcher *fsnotify.Watcher
	stopped chan struct{}
	once    sync.Once
}

func openSource() (*source, error) {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, errSystem("watchers of files", "the bound on open files", err)
	}
	return &source{watcher: watcher, stopped: make(chan struct{})}, nil
}

// stop has read return.
func (s *source) stop() { s.once.Do(func() { close(s.stopped) }) }

// release closes what openSource has opened.
func (s *source) release() { s.watcher.Close() }

// read hands events on until stop.
func (s *source) read(h *hub) {
	for {
		select {
		case <-s.stopped:
			return
		case e := <-s.watcher.Events:
			dispatch(h, e)
		case <-s.watcher.Errors: // an overflow, or something that we don't see now
			h.tellAll(lost)
		}
	}
}

// dispatch hands on an event: to the directory that it is in and, if it is the end
// of a directory, to that itself.
func dispatch(h *hub, from fsnotify.Event) {
	path := filepath.Clean(from.Name)
	e := event{name: filepath.Base(path)}
	switch {
	case from.Has(fsnotify.Create):
		info, err := os.Lstat(path)
		e.op, e.dir = created, err == nil && info.IsDir()
	case from.Has(fsnotify.Remove), from.Has(fsnotify.Rename):
		e.op = removed
		h.end(path)
	default:
		e.op = modified
	}
	h.tell(filepath.Dir(path), e)
}

// add begins to watch a directory for a post. It is registered before the first
// event can be handed on.
func (s *source) add(h *hub, dir *os.File, p *post) error {
	path := filepath.Clean(dir.Name())
	h.mu.Lock()
	first := h.register(path, p)
	h.mu.Unlock()
	if !first {
		return nil
	}
	err := s.watcher.Add(path)
	if err != nil {
		h.unregister(p)
	}
	return err
}

// remove ends watching a directory.
func (s *source) remove(k key) {
	if err := s.watcher.Remove(k); errors.Is(err, fsnotify.ErrNonExistentWatch) {
		return // it has been removed
	}
}

// mountsBelow describes the file systems that are mounted below a directory: the
// system does not tell here.
func mountsBelow(string) string { return "" }

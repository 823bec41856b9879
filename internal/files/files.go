// Package files carries out what clients ask of files: to read and write them
// whole or by blocks, to look at directories and walk through them, to copy,
// rename and remove.
//
// Reading, reading by blocks and walking append their results, encoded, to a
// buffer of the caller: they may be large, and are held only there.
//
// What is opened is judged when it is open, never by its path, so that nothing
// that is put in its place meanwhile can be mistaken for it. Nothing waits for the
// other end of a pipe, or for a device. Trees are copied and removed relative to
// their directories, so that a symbolic link that takes the place of a directory
// leads nowhere.
package files

import (
	"context"
	"os"
	"sync"
	"sync/atomic"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
)

// Files are the files of one connection. Its methods may be called at the same
// time. Errors are those of the protocol, or others that fault.Wire makes so.
type Files struct {
	budget *Budget
	opener Opener

	mu      sync.Mutex
	handles map[string]*handle
	closed  bool
}

// Opener opens files for requests that ask for a confinement.
type Opener interface {
	// Open opens a file as the parameters of a method, a pointer, ask for it.
	Open(ctx context.Context, method string, params any) (*os.File, error)
}

// New returns the files of a connection that has just begun. Without an opener
// requests that ask for a confinement are refused. With one, too, if they are for
// anything but opening a file, as reading one is: those must not come here.
func New(budget *Budget, opener Opener) *Files {
	return &Files{budget: budget, opener: opener, handles: map[string]*handle{}}
}

// Close closes every open file. A block that is being read or written is finished
// first, which is not waited for.
func (f *Files) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	for id, h := range f.handles {
		f.dropLocked(id, h)
	}
}

// reserve makes a handle for a file that is being opened.
func (f *Files) reserve(id string) (*handle, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.closed:
		return nil, os.ErrClosed
	case f.handles[id] != nil:
		return nil, protocol.Errorf(protocol.CodeInvalidRequest, "file handle `%s` already exists", id)
	case len(f.handles) >= limits.FileHandles:
		return nil, protocol.Errorf(protocol.CodeInvalidRequest,
			"at most %d file handles may be open per connection", limits.FileHandles)
	case !f.budget.take():
		return nil, errNoBudget()
	}
	h := &handle{}
	f.handles[id] = h
	return h, nil
}

// fill gives a handle its file. It reports false if the handle has been closed.
func (f *Files) fill(id string, h *handle, file *os.File) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.handles[id] != h {
		return false
	}
	h.file = file
	return true
}

// lookup returns the handle of an open file.
func (f *Files) lookup(id string) (*handle, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if h := f.handles[id]; h != nil && h.file != nil {
		return h, nil
	}
	return nil, errUnknown(id)
}

// drop closes a handle, unless that has been done.
func (f *Files) drop(id string, h *handle) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.handles[id] == h {
		f.dropLocked(id, h)
	}
}

func (f *Files) dropLocked(id string, h *handle) {
	delete(f.handles, id)
	f.budget.give()
	if h.file != nil {
		h.file.Close()
	}
}

// Budget bounds the open files of several connections together, and the answers
// with large ones. The zero value is ready.
type Budget struct {
	used  atomic.Int64
	large gate
}

// take takes a share, if there is one left.
func (b *Budget) take() bool {
	if b.used.Add(1) <= limits.OpenFiles {
		return true
	}
	b.give()
	return false
}

// give gives a share back.
func (b *Budget) give() { b.used.Add(-1) }

// errNoBudget answers what would be one open file too many.
func errNoBudget() error {
	return protocol.Errorf(protocol.CodeInternal,
		"the clients of this executor have %d files open, which is as many as it allows; close some, or try again later",
		limits.OpenFiles)
}

// Package transfer moves files between here and an executor's host.
//
// # What is promised
//
// A file is there whole, or as it was before: what comes is gathered in a part, a
// file beside the one that it will be, which takes its name at the end. That needs
// an executor with the feature fsRename; with others, and where what is written to
// is no regular file, it is written in place.
//
// A part that a lost executor has left behind is gone on with by the next transfer
// of the same file to the same place. Its name tells: it is made of path, size and
// time of modification of the source. Whatever else ends a transfer removes the
// part, unless [Mover.Keep] is set.
//
// Names that an executor tells are names within the directory that is written to,
// or refused. A symbolic link that is in that directory does not lead out of it.
package transfer

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/airlock-exec/airlock/client"
	"github.com/airlock-exec/airlock/protocol"
)

// Mover moves files. Its methods may be called by several goroutines.
type Mover struct {
	Files *client.Files
	// Info is about the executor that the files are of.
	Info *protocol.EnvironmentInfo
	// Moved, if set, is called with the number of bytes that have been moved.
	Moved func(bytes int64)
	// Tell is called with what has kept one file of a tree from being moved. One
	// call ends before the next one begins.
	Tell func(error)
	// Keep keeps parts when the context of a transfer ends, for another one to go
	// on with.
	Keep bool

	telling sync.Mutex
}

// ErrLeftOut is about something in a tree that is neither a file nor a directory.
var ErrLeftOut = errors.New("left out: it is no file and no directory")

// ErrLinkLeftOut is about a symbolic link to a directory, which could lead round in
// circles.
var ErrLinkLeftOut = errors.New("left out: it is a symbolic link to a directory")

// together is how many files of a tree are moved at the same time.
const together = 4

// undoTimeout bounds how long the removal of a part may take.
const undoTimeout = 5 * time.Second

func (m *Mover) tell(err error) {
	m.telling.Lock()
	defer m.telling.Unlock()
	m.Tell(err)
}

func (m *Mover) moved(n int) {
	if m.Moved != nil {
		m.Moved(int64(n))
	}
}

// offers tells whether the executor has a feature.
func (m *Mover) offers(feature string) bool {
	return m.Info.Airlock != nil && slices.Contains(m.Info.Airlock.Features, feature)
}

// keeps tells whether a part stays when a transfer has failed.
func (m *Mover) keeps(ctx context.Context, err error) bool {
	return m.Keep && ctx.Err() != nil || isLost(err)
}

// isLost tells whether an executor can't be reached any more.
func isLost(err error) bool {
	return errors.Is(err, client.ErrDisconnected) || errors.Is(err, client.ErrSessionLost)
}

// pool runs some functions at the same time.
type pool struct {
	places chan struct{}
	busy   sync.WaitGroup
}

func newPool() *pool { return &pool{places: make(chan struct{}, together)} }

// run runs a function beside, as soon as there is a place for it.
func (p *pool) run(f func()) {
	p.places <- struct{}{}
	p.busy.Go(func() {
		defer func() { <-p.places }()
		f()
	})
}

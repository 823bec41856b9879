package watch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/airlock-exec/airlock/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must happen.
const patience = 20 * time.Second

// client is a connection of a client that takes notifications when a test does.
type client struct {
	*Watches

	t       testing.TB
	changed chan *protocol.ChangedNotification
	missing chan uint64
	over    chan struct{}
}

// markers counts the files that tests make to see how far they have been told.
var markers atomic.Int64

// mark makes such a file, whose name sorts behind all others.
func (c *client) mark(dir string) string {
	c.t.Helper()
	marker := fmt.Sprint("~", markers.Add(1))
	write(c.t, filepath.Join(dir, marker), "")
	return marker
}

var errOver = errors.New("the connection is over")

// connect returns a client; its connection ends with the test, or by disconnect.
func connect(t testing.TB, budget *Budget) *client {
	c := &client{
		t:       t,
		changed: make(chan *protocol.ChangedNotification),
		missing: make(chan uint64),
		over:    make(chan struct{}),
	}
	c.Watches = New(Config{
		Budget: budget,
		Changed: func(n *protocol.ChangedNotification) error {
			select {
			case c.changed <- n:
				return nil
			case <-c.over:
				return errOver
			}
		},
		MissingChanged: func(n *protocol.MissingChangedNotification) error {
			select {
			case c.missing <- n.WatchID:
				return nil
			case <-c.over:
				return errOver
			}
		},
	})
	c.window = 5 * time.Millisecond
	t.Cleanup(c.disconnect)
	return c
}

func (c *client) disconnect() {
	select {
	case <-c.over:
	default:
		close(c.over)
	}
	c.Close()
}

// posts returns how many directories all connections of the executor watch.
func (c *client) posts() int {
	c.Watches.mu.Lock()
	h := c.hub
	c.Watches.mu.Unlock()
	if h == nil {
		return 0
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.count
}

// next returns the next notification.
func (c *client) next() *protocol.ChangedNotification {
	c.t.Helper()
	select {
	case n := <-c.changed:
		return n
	case <-time.After(patience):
		c.t.Fatal("nothing is told")
		return nil
	}
}

// watch begins a watch with the id "w".
func (c *client) watch(p protocol.WatchParams) {
	c.t.Helper()
	if p.WatchID == "" {
		p.WatchID = "w"
	}
	_, begin, err := c.Watch(c.t.Context(), &p)
	if err != nil {
		c.t.Fatal(err)
	}
	begin()
}

// heard is what a client has been told, by path below a directory.
type heard struct {
	changes []string // "kind path"
	rescan  bool
	ended   string
}

// until takes what is told up to the creation of a file that it makes in the
// directory, or up to the end of the watch.
func (c *client) until(dir string) heard {
	c.t.Helper()
	marker := c.mark(dir)
	var h heard
	for {
		n := c.next()
		h.rescan = h.rescan || n.Rescan
		if n.Rescan { // the marker may be among what has been missed
			marker = c.mark(dir)
		}
		done := false
		for _, change := range n.Changes {
			rel := below(c.t, dir, change.Path)
			if strings.HasPrefix(rel, "~") {
				done = done || rel == marker
				continue
			}
			h.changes = append(h.changes, string(change.Kind)+" "+rel)
		}
		if n.Ended != nil {
			h.ended = *n.Ended
			return h
		}
		if done {
			return h
		}
	}
}

// end takes what is told up to the end of the watch.
func (c *client) end() *protocol.ChangedNotification {
	c.t.Helper()
	for {
		if n := c.next(); n.Ended != nil {
			return n
		}
	}
}

func below(t testing.TB, dir string, uri protocol.PathURI) string {
	path, err := uri.Native()
	if err != nil {
		t.Fatal(err)
	}
	rel, err := filepath.Rel(dir, path)
	if err != nil {
		t.Fatal(err)
	}
	return filepath.ToSlash(rel)
}

func uri(t testing.TB, path string) protocol.PathURI {
	u, err := protocol.PathURIFromNative(path)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func write(t testing.TB, path, text string) {
	t.Helper()
	must(t, os.WriteFile(path, []byte(text), 0o600))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

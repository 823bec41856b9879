package main

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// noticeDelay is how long a connection may be lost without the user being told.
const noticeDelay = 2 * time.Second

// connectionNotice tells the user why nothing happens.
type connectionNotice struct {
	stderr io.Writer

	mu    sync.Mutex
	lost  time.Time   // when the connection was lost
	timer *time.Timer // tells of it
	told  bool
}

// changed is called when the connection is lost, with the reason, and with nil
// when there is one again.
func (n *connectionNotice) changed(reason error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if reason != nil {
		n.lost = time.Now()
		n.timer = time.AfterFunc(noticeDelay, func() { n.tell(reason) })
		return
	}
	n.stopLocked()
	if n.told {
		fmt.Fprintf(n.stderr, "airlock: connected again after %v\n", time.Since(n.lost).Round(time.Second))
	}
	n.told = false
}

// isLost tells whether there is no connection.
func (n *connectionNotice) isLost() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.timer != nil
}

// tell is called when the connection has been lost for a while.
func (n *connectionNotice) tell(reason error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.timer != nil { // it has not been stopped meanwhile
		n.told = true
		fmt.Fprintf(n.stderr, "airlock: the connection is lost; trying to get it back; Ctrl-C gives up (%v)\n", reason)
	}
}

// stop ends it.
func (n *connectionNotice) stop() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.stopLocked()
}

func (n *connectionNotice) stopLocked() {
	if n.timer != nil {
		n.timer.Stop()
		n.timer = nil
	}
}

package client

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/airlock-exec/airlock/internal/transport"
	"github.com/airlock-exec/airlock/protocol"
)

// Bounds on what has come of a process and is not taken. What does not fit is
// dropped, and read when there is room again.
const (
	// earlyEvents and earlyBytes bound what waits behind a hole.
	earlyEvents = 256
	earlyBytes  = 1 << 20
	// mostBytes bounds the rest if nobody holds back the connection: an
	// executor may forget its window, and a new connection has a new one.
	mostBytes = 4 * windowBytes
)

// inbox holds what has come of one process until it is taken.
//
// Events come as notifications. What these leave out (while there was no
// connection, or because it did not fit) is read, by whoever waits for it:
// behind tells that it must be, reading that somebody does.
type inbox struct {
	id string // of the process
	// followed: somebody is going to take the events. It only ever turns true,
	// under the lock.
	followed atomic.Bool

	mu      sync.Mutex
	news    news // anything has changed
	order   *sequence
	queue   []item                      // for Next
	readers map[protocol.Stream]*Reader // each has what is for it
	bytes   int                         // what all that is not taken costs
	newest  uint64                      // the highest number heard of
	over    bool                        // it is the highest there will be
	exit    int                         // the exit code
	sandbox protocol.SandboxType
	tier    protocol.SandboxTier
	limits  *protocol.LimitMechanisms
	err     error // why nothing more can come

	starting bool // nothing can be read yet
	behind   bool
	reading  bool
	broken   int // how often to halve what is read, as connections broke meanwhile
	// holeAt is the number before the hole that early events wait behind, and
	// holeSince when it came up.
	holeAt    uint64
	holeSince time.Time
	// target is up to which number must be read; once it is known that
	// everything above comes as a notification, targeted is set.
	target   uint64
	targeted bool
	// epoch counts the connections that the session has been resumed on, and
	// asked is that in which the newest number has been asked for, plus one.
	epoch, asked uint64

	window window
}

// isClosed tells whether nothing will come any more, as the process has closed.
func (b *inbox) isClosed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.order.closed
}

// put takes in a notification. It returns an error only if its connection is
// over; over tells that no more will come.
func (b *inbox) put(l *link, i item, extra *protocol.EventExtra) (over bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.window.link != l {
		b.window = window{link: l}
	}
	b.heard(i.last, i.Kind == Closed)
	if l.mayWait.Load() {
		if err := b.waitForRoom(l); err != nil {
			return false, err
		}
	}
	if !b.followed.Load() || b.err != nil {
		b.grant(&i)
		return i.Kind == Closed, nil
	}
	if extra != nil {
		b.order.told(i.Seq, extra)
	}
	switch {
	case b.bytes >= mostBytes:
		b.drop(&i)
	case b.order.direct(&i):
		b.hand(i)
	case b.order.add(i):
		for len(b.order.early) > earlyEvents || b.order.bytes > earlyBytes {
			oldest := b.order.discard()
			b.drop(&oldest)
		}
	default:
		b.grant(&i)
	}
	b.settle()
	if l.paced.Load() && len(b.order.early) > 0 {
		b.fallBehind() // it comes in order, so that the hole stays
	}
	return b.order.closed, nil
}

// waitForRoom holds the connection back while much waits to be taken. It does
// not while an answer is needed from it.
func (b *inbox) waitForRoom(l *link) error {
	for b.followed.Load() && b.bytes >= windowBytes && !b.reading && b.err == nil {
		change := b.news.wait()
		b.mu.Unlock()
		var err error
		select {
		case <-change:
		case <-l.over:
			err = transport.ErrClosed
		}
		b.mu.Lock()
		if err != nil {
			return err
		}
	}
	return nil
}

// heard notes a number that the process has reached. The caller holds the lock,
// here and in what follows.
func (b *inbox) heard(number uint64, over bool) {
	if number > b.newest || over && !b.over {
		b.newest = max(b.newest, number)
		b.over = b.over || over
		b.news.tell()
	}
}

// drop leaves an event to be read later.
func (b *inbox) drop(i *item) {
	b.fallBehind()
	b.target = max(b.target, i.last)
	if i.from == b.window.link {
		b.window.dropped += uint64(len(i.Data))
	}
}

// fallBehind has read what the notifications have left out.
func (b *inbox) fallBehind() {
	if b.behind {
		return
	}
	b.behind, b.targeted = true, true
	if len(b.order.early) > 0 {
		b.target = max(b.target, b.order.early[0].first-1)
	}
	b.news.tell()
}

// settle hands on what has come in order, and notes when nothing need be read
// any more.
func (b *inbox) settle() {
	for {
		i, ok := b.order.next()
		if !ok {
			break
		}
		b.hand(i)
	}
	if b.behind && (b.order.closed || b.targeted && b.order.last >= b.target && !b.order.exitDue) {
		b.behind, b.targeted, b.target = false, false, 0
		b.window.taken += b.window.dropped
		b.window.dropped = 0
		b.grantEnough()
	}
	if len(b.order.early) > 0 && (b.holeAt != b.order.last || b.holeSince.IsZero()) {
		b.holeAt, b.holeSince = b.order.last, time.Now()
	}
	b.news.tell()
}

// hand gives an event to who will take it.
func (b *inbox) hand(i item) {
	switch i.Kind {
	case Output:
		if r := b.readers[i.Stream]; r != nil {
			r.hand(i)
			return
		}
	case Gap:
		for _, r := range b.readers {
			if i.concerns(r.stream) {
				r.hand(i)
			}
		}
	case Exited:
		b.exit = i.ExitCode
	case Closed:
	}
	b.queue = append(b.queue, i)
	b.bytes += i.cost()
}

// took notes that an event has been taken.
func (b *inbox) took(i *item) {
	b.bytes -= i.cost()
	b.grant(i)
	b.news.tell()
}

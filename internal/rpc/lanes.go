package rpc

import (
	"context"
	"sync"

	"github.com/airlock-exec/airlock/internal/limits"
)

// item is a request that waits for its turn, or an error that does.
type item struct {
	id      ID
	request Request
	err     error
	size    int // of the whole message
}

// lanes are the queues of one connection.
type lanes struct {
	ordinary, control *lane // the same one at a concurrency of one
	workers           sync.WaitGroup
}

func (c *Conn) startLanes(ctx context.Context) *lanes {
	l := &lanes{ordinary: newLane(c.config.Concurrency)}
	l.workers.Go(func() { c.work(ctx, l, l.ordinary) })
	l.control = l.ordinary
	if c.config.Concurrency > 1 {
		l.control = newLane(c.config.Concurrency)
		l.workers.Go(func() { c.work(ctx, l, l.control) })
	}
	return l
}

func (l *lanes) of(which Lane) *lane {
	if which == LaneControl {
		return l.control
	}
	return l.ordinary
}

// finish lets the lanes end once they are empty.
func (l *lanes) finish() {
	l.ordinary.finish()
	l.control.finish()
}

// wait returns when every request has been answered or given up.
func (l *lanes) wait() { l.workers.Wait() }

// work begins the requests of a lane in order.
func (c *Conn) work(ctx context.Context, all *lanes, l *lane) {
	for {
		next, ok := l.next()
		if !ok {
			return
		}
		if ctx.Err() != nil {
			continue // nobody is there to be answered
		}
		l.places <- struct{}{}
		id, reply := next.id, c.beginWaiting(ctx, next)
		switch {
		case reply.Wait != nil && reply.Parked && c.parked.enter(next.size):
			<-l.places
			size := next.size
			all.workers.Go(func() {
				defer c.parked.leave(size)
				c.finishParked(ctx, id, reply)
			})
		case reply.Parked && reply.Full != nil:
			c.finish(ctx, id, reply.Full())
			<-l.places
		case reply.Wait == nil || cap(l.places) == 1:
			reply = outcome(ctx, reply)
			c.answer(id, reply, l.urgency())
			<-l.places
		default:
			all.workers.Go(func() {
				c.finish(ctx, id, reply)
				<-l.places
			})
		}
	}
}

// parking counts the requests that wait beside their lanes.
type parking struct {
	mu       sync.Mutex
	requests int
	bytes    int
}

// enter takes a place for a request, if there is one.
func (p *parking) enter(size int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.requests >= limits.ParkedRequests || p.bytes > 0 && p.bytes+size > limits.ParkedRequestBytes {
		return false
	}
	p.requests++
	p.bytes += size
	return true
}

func (p *parking) leave(size int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests--
	p.bytes -= size
}

// finishParked waits beside the lane, and then answers in turn: many that have
// waited for the same must not make their answers all at once.
func (c *Conn) finishParked(ctx context.Context, id ID, reply Reply) {
	reply = reply.Wait(ctx)
	c.answering <- struct{}{}
	defer func() { <-c.answering }()
	c.finish(ctx, id, reply)
}

// lane is a queue of requests in order of arrival, bounded in number and bytes.
type lane struct {
	places chan struct{} // a place for each request under way

	mu     sync.Mutex
	change sync.Cond
	queue  []item
	bytes  int
	ended  bool
}

func newLane(concurrency int) *lane {
	l := &lane{places: make(chan struct{}, concurrency)}
	l.change.L = &l.mu
	return l
}

// add puts a request at the end, for which there is room: only one goroutine adds.
func (l *lane) add(i item) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue = append(l.queue, i)
	l.bytes += i.size
	l.change.Broadcast()
}

// hasRoom tells whether there is room for a request of a size.
func (l *lane) hasRoom(size int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.hasRoomLocked(size)
}

// awaitRoom waits until there is.
func (l *lane) awaitRoom(size int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for !l.hasRoomLocked(size) {
		l.change.Wait()
	}
}

func (l *lane) hasRoomLocked(size int) bool {
	return l.ended || len(l.queue) == 0 ||
		len(l.queue) < limits.QueuedRequests && l.bytes+size <= limits.QueuedRequestBytes
}

// next takes the request at the head. It reports false when there will be none.
func (l *lane) next() (item, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.queue) == 0 && !l.ended {
		l.change.Wait()
	}
	if len(l.queue) == 0 {
		return item{}, false
	}
	head := l.queue[0]
	l.queue[0] = item{}
	l.queue = l.queue[1:]
	l.bytes -= head.size
	l.change.Broadcast()
	return head, true
}

// urgency is that of an answer: while requests wait, there is better to do than to
// write each by itself.
func (l *lane) urgency() urgency {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) > 0 {
		return soon
	}
	return now
}

// finish lets next report the end once the queue is empty.
func (l *lane) finish() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	l.change.Broadcast()
}

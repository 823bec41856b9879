package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
)

// errPartMissing ends a body that is not told whole.
var errPartMissing = errors.New("the executor has left something out")

// streams are the bodies that are still to come, by their ids. The zero value is
// ready.
type streams struct {
	mu    sync.Mutex // guards the streams, too
	byID  map[string]*stream
	bytes int  // what waits in them all
	room  news // that has become less
}

// stream is the body of an answer. It implements [io.ReadCloser].
type stream struct {
	id   string
	link *link
	set  *streams
	// forget ends the watch for the end of the context.
	forget func() bool

	changed *sync.Cond
	chunks  [][]byte
	bytes   int       // in them
	since   time.Time // from when on they wait, and nothing has been taken
	seq     uint64    // of the last part
	err     error     // what comes behind the chunks: nothing is to come any more
}

// newStream makes the stream that the body of an answer will come by. It ends with
// ctx, and when the connection does.
func (e *executor) newStream(ctx context.Context, l *link) *stream {
	set := &e.streams
	s := &stream{id: "http-" + strconv.FormatUint(e.lastID.Add(1), 36), link: l, set: set, changed: sync.NewCond(&set.mu)}
	set.mu.Lock()
	defer set.mu.Unlock()
	if set.byID == nil {
		set.byID = map[string]*stream{}
	}
	set.byID[s.id] = s
	s.forget = context.AfterFunc(ctx, func() {
		set.mu.Lock()
		defer set.mu.Unlock()
		if s.err == nil {
			s.drop(bodyError(context.Cause(ctx)))
		}
	})
	return s
}

// Read implements [io.Reader].
func (s *stream) Read(data []byte) (int, error) {
	s.set.mu.Lock()
	defer s.set.mu.Unlock()
	if len(data) == 0 {
		return 0, nil
	}
	for len(s.chunks) == 0 && s.err == nil {
		s.changed.Wait()
	}
	if len(s.chunks) > 0 {
		return s.take(data), nil
	}
	return 0, s.err
}

// take moves over what has come. The caller holds the lock, here and in what
// follows.
func (s *stream) take(data []byte) int {
	n := 0
	for n < len(data) && len(s.chunks) > 0 {
		copied := copy(data[n:], s.chunks[0])
		n += copied
		s.chunks[0] = s.chunks[0][copied:]
		if len(s.chunks[0]) == 0 {
			s.chunks[0] = nil
			s.chunks = s.chunks[1:]
		}
	}
	s.count(-n)
	return n
}

// count notes that more waits, or less.
func (s *stream) count(bytes int) {
	if bytes < 0 || s.bytes == 0 {
		s.since = time.Now()
	}
	s.bytes += bytes
	if s.err == nil {
		s.set.bytes += bytes
	}
	if bytes < 0 {
		s.set.room.tell()
	}
}

// Close implements [io.Closer]. What is still to come is dropped.
func (s *stream) Close() error {
	s.set.mu.Lock()
	defer s.set.mu.Unlock()
	s.drop(io.EOF)
	s.err = http.ErrBodyReadAfterClose
	return nil
}

// drop ends the stream, and what waits is not read any more.
func (s *stream) drop(err error) {
	s.end(err)
	s.chunks, s.bytes = nil, 0
}

// end ends the stream behind what waits, which does not count any more.
func (s *stream) end(err error) {
	if s.err != nil {
		return
	}
	s.err = err
	s.forget()
	s.set.bytes -= s.bytes
	delete(s.set.byID, s.id)
	s.changed.Broadcast()
	s.set.room.tell()
}

// bodyError is why a body can't be read.
func bodyError(err error) error { return fmt.Errorf("reading the body of an answer: %w", err) }

// add adds a part of the body.
func (s *stream) add(n *protocol.HTTPBodyDeltaNotification) {
	s.seq++
	if n.Seq != s.seq {
		s.end(bodyError(fmt.Errorf("%w: part %d comes in place of part %d", errPartMissing, n.Seq, s.seq)))
		return
	}
	if len(n.DeltaBase64) > 0 {
		s.chunks = append(s.chunks, n.DeltaBase64)
		s.count(len(n.DeltaBase64))
		s.changed.Broadcast()
	}
	switch {
	case n.Error != nil:
		s.end(bodyError(fmt.Errorf("%w: %s", io.ErrUnexpectedEOF, *n.Error)))
	case n.Done:
		s.end(io.EOF)
	}
}

// arrive hands a part of a body to its stream; one that is not there has been closed.
// While there is no room it waits, and with it the connection.
func (s *streams) arrive(ctx context.Context, n *protocol.HTTPBodyDeltaNotification) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if found := s.byID[n.RequestID]; found != nil {
		found.add(n)
		s.hold(ctx, found)
	}
}

// hold waits until there is room for what has come of a stream. If that takes too long
// it makes some.
func (s *streams) hold(ctx context.Context, last *stream) {
	end := time.Now().Add(limits.HTTPHoldTime)
	for last.err == nil && (last.bytes > limits.HTTPUnreadBytes || s.bytes > limits.HTTPUnreadTotalBytes) {
		unread := last
		if last.bytes <= limits.HTTPUnreadBytes {
			unread = s.largest()
		}
		until := unread.since.Add(limits.HTTPUnreadTime)
		if end.Before(until) {
			until = end
		}
		if !time.Now().Before(until) {
			unread.drop(bodyError(ErrBodyUnread))
			continue
		}
		waiting, cancel := context.WithDeadline(ctx, until)
		_ = s.room.await(waiting, &s.mu)
		cancel()
		if ctx.Err() != nil {
			return // the connection ends
		}
	}
}

// largest returns the stream in which most waits.
func (s *streams) largest() *stream {
	var largest *stream
	for _, each := range s.byID {
		if largest == nil || each.bytes > largest.bytes {
			largest = each
		}
	}
	return largest
}

// cut ends the streams of a connection that is over.
func (s *streams) cut(l *link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, each := range s.byID {
		if each.link == l {
			each.end(bodyError(fmt.Errorf("%w: the connection was lost", io.ErrUnexpectedEOF)))
		}
	}
}

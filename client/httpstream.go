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

	"github.com/airlock-exec/airlock/protocol"
)

const (
	// bodyBytes is how much of a body waits before the connection is held back.
	bodyBytes = 16 << 20
	// bodyPatience is how long it is, for nothing to be taken.
	bodyPatience = 5 * time.Second
)

// errPartMissing ends a body that is not told whole.
var errPartMissing = errors.New("the executor has left something out")

// stream is the body of an answer. It implements [io.ReadCloser].
type stream struct {
	id   string
	link *link
	set  *streams
	// await waits for a change, the end of the connection, or that of the context.
	await func() error

	mu     sync.Mutex
	news   news
	chunks [][]byte
	bytes  int    // in them
	seq    uint64 // of the last part
	err    error  // what comes behind the chunks
}

// newStream makes the stream that the body of an answer will come by.
func (e *executor) newStream(ctx context.Context, l *link) *stream {
	s := &stream{id: "http-" + strconv.FormatUint(e.lastID.Add(1), 36), link: l, set: &e.streams}
	s.await = func() error { return s.news.awaitOr(ctx, &s.mu, l.ended) }
	s.set.add(s)
	return s
}

// Read implements [io.Reader].
func (s *stream) Read(data []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		over := s.link.isOver() // before it is looked whether it has brought something
		switch {
		case len(data) == 0:
			return 0, nil
		case len(s.chunks) > 0:
			return s.take(data), nil
		case s.err != nil:
			return 0, s.err
		case over:
			s.end(fmt.Errorf("reading the body of an answer: %w: the connection was lost", io.ErrUnexpectedEOF))
			continue
		}
		if err := s.await(); err != nil {
			return 0, fmt.Errorf("reading the body of an answer: %w", err)
		}
	}
}

// take moves over what has come. The caller holds the lock.
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
	s.bytes -= n
	s.news.tell()
	return n
}

// Close implements [io.Closer]. What is still to come is dropped.
func (s *stream) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop()
	s.end(io.EOF)
	s.err = http.ErrBodyReadAfterClose
	return nil
}

// drop drops what waits. The caller holds the lock.
func (s *stream) drop() { s.chunks, s.bytes = nil, 0 }

// end ends the stream behind what waits. The caller holds the lock.
func (s *stream) end(err error) {
	if s.err == nil {
		s.err = err
		s.set.remove(s)
	}
	s.news.tell()
}

// arrive takes a part of the body. While too much waits it does, too, and with it the
// connection.
func (s *stream) arrive(ctx context.Context, n *protocol.HTTPBodyDeltaNotification) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return
	}
	s.seq++
	if n.Seq != s.seq {
		s.end(fmt.Errorf("reading the body of an answer: %w: part %d comes in place of part %d", errPartMissing, n.Seq, s.seq))
		return
	}
	if len(n.DeltaBase64) > 0 {
		s.chunks = append(s.chunks, n.DeltaBase64)
		s.bytes += len(n.DeltaBase64)
	}
	switch {
	case n.Error != nil:
		s.end(fmt.Errorf("reading the body of an answer: %w: %s", io.ErrUnexpectedEOF, *n.Error))
	case n.Done:
		s.end(io.EOF)
	}
	s.news.tell()
	for s.bytes > bodyBytes && s.err == nil {
		s.hold(ctx)
	}
}

// hold waits until something is taken, for a while. The caller holds the lock.
func (s *stream) hold(ctx context.Context) {
	waiting, cancel := context.WithTimeoutCause(ctx, bodyPatience, ErrBodyUnread)
	defer cancel()
	if err := s.news.await(waiting, &s.mu); err != nil {
		s.drop()
		s.end(err)
	}
}

// streams are the bodies that are still to come, by their ids. The zero value is
// ready.
type streams struct {
	mu   sync.Mutex
	byID map[string]*stream
}

func (s *streams) add(added *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byID == nil {
		s.byID = map[string]*stream{}
	}
	s.byID[added.id] = added
}

func (s *streams) remove(removed *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.byID, removed.id)
}

// arrive hands a part of a body to its stream. One that is not there has been closed.
func (s *streams) arrive(ctx context.Context, n *protocol.HTTPBodyDeltaNotification) {
	s.mu.Lock()
	found := s.byID[n.RequestID]
	s.mu.Unlock()
	if found != nil {
		found.arrive(ctx, n)
	}
}

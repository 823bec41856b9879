package fetch

import (
	"context"
	"net"
	"net/http"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
)

// slow is a client that does not read until it is told to.
type slow struct {
	read, done   chan struct{}
	got, largest int // to be read when it is done
}

func (s *slow) take(n *protocol.HTTPBodyDeltaNotification) error {
	<-s.read
	s.got += len(n.DeltaBase64)
	s.largest = max(s.largest, len(n.DeltaBase64))
	if n.Done {
		close(s.done)
	}
	return nil
}

// TestBackPressure asserts that an origin waits for a client that does not read,
// and that nothing is lost.
func TestBackPressure(t *testing.T) {
	t.Parallel()
	const size = 64 << 20
	for _, test := range []struct {
		name    string
		http2   bool
		largest int
		ahead   int64 // with what the system keeps
	}{
		{name: "HTTP/1.1", largest: limits.HTTPDeltaBytes, ahead: size / 2},
		{name: "HTTP/2", http2: true, largest: limits.HTTPStreamWindow, ahead: 2 << 20},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var sent atomic.Int64
			origin := serveTLS(t, test.http2, func(w http.ResponseWriter, r *http.Request) {
				piece := make([]byte, 64<<10)
				for sent.Load() < size {
					n, err := w.Write(piece)
					if sent.Add(int64(n)); err != nil {
						return
					}
				}
			})
			s := &slow{read: make(chan struct{}), done: make(chan struct{})}
			c := trusting(t).fetcher.Connection(s.take)
			defer c.Close()
			e, err := c.Begin(stream(origin.URL, "s"))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := e.Do(t.Context()); err != nil {
				t.Fatal(err)
			}
			e.Sent()
			if ahead := awaitStanding(t, &sent); ahead > test.ahead {
				t.Errorf("the origin could send %d bytes ahead", ahead)
			}
			close(s.read)
			wait(t, s.done, "the end of the stream")
			if s.got < size || s.largest > test.largest {
				t.Errorf("got %d bytes in parts of up to %d", s.got, s.largest)
			}
		})
	}
}

// awaitStanding waits until a count does not grow any more.
func awaitStanding(t *testing.T, count *atomic.Int64) int64 {
	t.Helper()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	standing, last := time.Now(), int64(-1)
	for start := standing; time.Since(standing) < 300*time.Millisecond; <-look.C {
		if now := count.Load(); now != last {
			standing, last = time.Now(), now
		}
		if time.Since(start) > 20*time.Second {
			t.Fatal("the origin does not stand still")
		}
	}
	return last
}

// TestLargeReads asserts that where there is much to read, much is read at once.
func TestLargeReads(t *testing.T) {
	t.Parallel()
	const size = 32 << 20
	origin := serve(t, func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write(make([]byte, size)) })
	s := &slow{read: make(chan struct{}), done: make(chan struct{})}
	close(s.read)
	c := newClient(t, Config{}).fetcher.Connection(s.take)
	defer c.Close()
	e, err := c.Begin(stream(origin.URL, "s"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Do(t.Context()); err != nil {
		t.Fatal(err)
	}
	e.Sent()
	wait(t, s.done, "the end of the stream")
	if s.got != size || s.largest > limits.HTTPDeltaBytes || s.largest <= limits.HTTPReadBytes {
		t.Errorf("got %d bytes in parts of up to %d", s.got, s.largest)
	}
}

// TestDialEnds asserts that nobody goes on connecting for a request that has been
// given up, or for a client that is gone, as net/http would.
func TestDialEnds(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		end  func(c *Connection, giveUp context.CancelFunc)
	}{
		{"given up", func(_ *Connection, giveUp context.CancelFunc) { giveUp() }},
		{"gone", func(c *Connection, _ context.CancelFunc) { c.Close() }},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := newClient(t, Config{}).Connection
			dialing := make(chan struct{})
			dial := c.dialPlain(&net.Dialer{ControlContext: func(ctx context.Context, _, _ string, _ syscall.RawConn) error {
				close(dialing)
				<-ctx.Done()
				return ctx.Err()
			}})
			request, giveUp := context.WithCancel(t.Context())
			defer giveUp()
			failed := make(chan struct{})
			go func() {
				defer close(failed)
				detached := context.WithValue(context.WithoutCancel(request), requestKey{}, request)
				if conn, err := dial(detached, "tcp", "127.0.0.1:1"); err == nil {
					_ = conn.Close()
					t.Error("connected")
				}
			}()
			wait(t, dialing, "the dial")
			test.end(c, giveUp)
			wait(t, failed, "the end of the dial")
		})
	}
}

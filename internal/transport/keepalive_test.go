package transport

import (
	"bytes"
	"errors"
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/airlock-exec/airlock/internal/limits"
)

// pipeListener accepts connections inside the process, so that a whole listener
// runs on a fake clock.
type pipeListener struct {
	dialed chan net.Conn
	closed chan struct{}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.dialed:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	select {
	case <-l.closed:
	default:
		close(l.closed)
	}
	return nil
}

func (l *pipeListener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

// inBubble runs a test with a client and a connection on a fake clock.
func inBubble(t *testing.T, cfg Config, test func(t *testing.T, client *rawClient, conn Conn)) {
	synctest.Test(t, func(t *testing.T) {
		socket := &pipeListener{dialed: make(chan net.Conn), closed: make(chan struct{})}
		conns := serveOn(t, newListener(socket, cfg))
		near, far := net.Pipe()
		client := newRawClient(t, near)
		socket.dialed <- far
		client.handshake()
		test(t, client, <-conns)
	})
}

// read reads in the background until the connection fails.
func read(conn Conn) <-chan error {
	failed := make(chan error, 1)
	go func() {
		for {
			if _, err := conn.Read(); err != nil {
				failed <- err
				return
			}
		}
	}()
	return failed
}

// expectPings receives n pings, an interval apart.
func (c *rawClient) expectPings(n int, interval time.Duration) {
	c.t.Helper()
	for range n {
		begun := time.Now()
		c.expect(fin|opPing, "")
		if waited := time.Since(begun); waited != interval {
			c.t.Fatalf("a ping after %v, want %v", waited, interval)
		}
	}
}

const (
	testInterval = 3 * time.Second
	testSilence  = 9 * time.Second
)

var keepaliveConfig = Config{PingInterval: testInterval, PingTimeout: testSilence}

func TestDefaultKeepalive(t *testing.T) {
	inBubble(t, Config{}, func(t *testing.T, client *rawClient, conn Conn) {
		begun := time.Now()
		failed := read(conn)
		go discard(client)
		if err := <-failed; err != ErrPingTimeout || time.Since(begun) != 90*time.Second {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
	})
}

// discard reads and drops all frames.
func discard(c *rawClient) {
	for {
		if _, _, err := c.receive(); err != nil {
			return
		}
	}
}

func TestSilentPeerIsDropped(t *testing.T) {
	inBubble(t, keepaliveConfig, func(t *testing.T, client *rawClient, conn Conn) {
		begun := time.Now()
		failed := read(conn)
		client.expectPings(2, testInterval)
		if status := client.expectEnd(); status != 0 {
			t.Errorf("close frame with status %d", status)
		}
		if err := <-failed; err != ErrPingTimeout {
			t.Errorf("read: %v", err)
		}
		if err := conn.Write([][]byte{nil}); err != ErrPingTimeout {
			t.Errorf("write: %v", err)
		}
		if took := time.Since(begun); took != testSilence {
			t.Errorf("dropped after %v", took)
		}
	})
}

// A cut cable while output streams: the pings are stuck behind the output, and
// the peer must still be found out.
func TestSilentPeerIsDroppedDuringWrite(t *testing.T) {
	inBubble(t, keepaliveConfig, func(t *testing.T, client *rawClient, conn Conn) {
		begun := time.Now()
		failed := read(conn)
		if err := conn.Write([][]byte{make([]byte, 1<<20)}); err != ErrPingTimeout {
			t.Errorf("write: %v", err)
		}
		if err := <-failed; err != ErrPingTimeout {
			t.Errorf("read: %v", err)
		}
		if took := time.Since(begun); took != testSilence {
			t.Errorf("dropped after %v", took)
		}
	})
}

// A peer that takes a large batch slowly is not silent: it has not been asked, as the
// pings are behind the batch. When they have come it must answer.
func TestSlowPeerIsNotDroppedDuringWrite(t *testing.T) {
	inBubble(t, keepaliveConfig, func(t *testing.T, client *rawClient, conn Conn) {
		failed := read(conn)
		batch := slices.Repeat([][]byte{make([]byte, directBytes)}, 30)
		written := make(chan error, 1)
		go func() { written <- conn.Write(batch) }()
		for i := range batch {
			time.Sleep(testSilence / 8)
			if _, payload, err := client.receive(); err != nil || len(payload) != directBytes {
				t.Fatalf("message %d has %d bytes, error %v", i, len(payload), err)
			}
		}
		if err := <-written; err != nil {
			t.Error(err)
		}
		begun := time.Now()
		go discard(client)
		if err := <-failed; err != ErrPingTimeout || time.Since(begun) > 2*testSilence {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
	})
}

// The same with the ping itself stuck.
func TestSilentPeerIsDroppedDuringPing(t *testing.T) {
	inBubble(t, keepaliveConfig, func(t *testing.T, client *rawClient, conn Conn) {
		begun := time.Now()
		if err := <-read(conn); err != ErrPingTimeout || time.Since(begun) != testSilence {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
	})
}

func TestAnythingReceivedIsLife(t *testing.T) {
	message := frame(fin|opText, []byte("hello"))
	for name, sent := range map[string][]byte{
		"pong":           frame(fin|opPong, nil),
		"message":        message,
		"one byte":       nil, // a message trickles in
		"unrelated pong": frame(fin|opPong, []byte("x")),
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, keepaliveConfig, func(t *testing.T, client *rawClient, conn Conn) {
				failed := read(conn)
				go discard(client)
				for i := range 40 {
					time.Sleep(testSilence - time.Nanosecond)
					if sent != nil {
						client.send(sent)
					} else {
						client.send(message[i%len(message):][:1])
					}
				}
				begun := time.Now()
				if err := <-failed; err != ErrPingTimeout || time.Since(begun) != testSilence {
					t.Errorf("%v %v after the last byte", err, time.Since(begun))
				}
			})
		})
	}
}

// The layer above stops reading when its queue is full. What the peer sends is
// not received then, which is not the peer's fault.
func TestSilenceWithoutReadIsNotJudged(t *testing.T) {
	inBubble(t, keepaliveConfig, func(t *testing.T, client *rawClient, conn Conn) {
		client.expectPings(10*int(testSilence/testInterval), testInterval)
		go discard(client)
		if err := conn.Write([][]byte{[]byte("still here")}); err != nil {
			t.Fatal(err)
		}
	})
}

// Once there is a Read again, the peer has the whole timeout to answer.
func TestSilenceCountsFromRead(t *testing.T) {
	inBubble(t, keepaliveConfig, func(t *testing.T, client *rawClient, conn Conn) {
		go discard(client)
		time.Sleep(10*testSilence + time.Second)
		begun := time.Now()
		if err := <-read(conn); err != ErrPingTimeout || time.Since(begun) != testSilence {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
	})
}

func TestCloseDoesNotWaitForPeer(t *testing.T) {
	for name, before := range map[string]func(conn Conn) <-chan error{
		"idle": func(Conn) <-chan error { return nil },
		"read": read,
		"write": func(conn Conn) <-chan error {
			failed := make(chan error, 1)
			go func() { failed <- conn.Write([][]byte{bytes.Repeat([]byte("x"), 1<<20)}) }()
			return failed
		},
		"ping": func(Conn) <-chan error { time.Sleep(testInterval); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, keepaliveConfig, func(t *testing.T, client *rawClient, conn Conn) {
				failed := before(conn)
				synctest.Wait()
				begun := time.Now()
				conn.Close(nil)
				if took := time.Since(begun); took != closeTimeout {
					t.Errorf("close took %v", took)
				}
				if failed == nil {
					return
				}
				if err := <-failed; !errors.Is(err, ErrClosed) {
					t.Error(err)
				}
			})
		})
	}
}

func TestListenerCloseAtHandshake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		socket := &pipeListener{dialed: make(chan net.Conn), closed: make(chan struct{})}
		l := newListener(socket, Config{})
		served := make(chan error)
		go func() { served <- l.Serve(func(Conn) {}) }()
		near, far := net.Pipe()
		defer near.Close()
		socket.dialed <- far
		if _, err := near.Write([]byte("GET / HT")); err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		l.Close()
		if err := <-served; err != nil || time.Since(begun) != 0 {
			t.Errorf("error %v after %v", err, time.Since(begun))
		}
	})
}

// TestProbe: a peer that is probed and silent is dropped soon, one that answers
// is not, and more probes at a time make no difference.
func TestProbe(t *testing.T) {
	for name, answers := range map[string]bool{"silent": false, "there": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, Config{}, func(t *testing.T, client *rawClient, conn Conn) {
				failed := read(conn)
				time.Sleep(time.Second)
				began := time.Now()
				for range 5 {
					conn.Probe()
				}
				client.expect(fin|opPing, "")
				if answers {
					time.Sleep(limits.ProbeTimeout / 2)
					client.send(frame(fin|opPong, nil))
				}
				go discard(client)
				if !answers {
					if err := <-failed; err != ErrPingTimeout || time.Since(began) != limits.ProbeTimeout {
						t.Errorf("%v after %v", err, time.Since(began))
					}
					return
				}
				select {
				case err := <-failed:
					t.Errorf("%v after %v", err, time.Since(began))
				case <-time.After(2 * limits.ProbeTimeout):
				}
			})
		})
	}
}

package main

import (
	"bufio"
	"context"
	_ "embed" // for the directive below
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// leastSource is a server that does next to nothing. Loops in this program are
// no floor for a conversation: it takes two processes, which have to wake each
// other up.
//
//go:embed testdata/least/main.go
var leastSource string

// order is what the least server is told to do: echo, relay or run.
type order struct {
	Do   string   `json:"do"`
	Argv []string `json:"argv,omitempty"`
}

// withLeast runs f with a connection to the least server, which has its order.
func withLeast(ctx context.Context, n sizes, o order, f func(net.Conn) error) error {
	least, err := n.fixtures.buildLeast(ctx)
	if err != nil {
		return err
	}
	running, err := least.start(ctx)
	if err != nil {
		return err
	}
	defer running.stop()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", strings.TrimPrefix(running.url, "ws://"))
	if err != nil {
		return running.explain(err)
	}
	defer conn.Close()
	line, err := json.Marshal(o)
	if err != nil {
		return err
	}
	if _, err := conn.Write(append(line, '\n')); err != nil {
		return running.explain(err)
	}
	if err := f(conn); err != nil {
		return running.explain(err)
	}
	return nil
}

// addLeast adds a figure that the least server has, if there can be one here.
func addLeast(s sample, key string, f func() (float64, error)) (sample, error) {
	v, err := f()
	switch {
	case errors.Is(err, errNotAvailable):
		return s, nil
	case err != nil:
		return nil, err
	}
	s[key] = v
	return s, nil
}

// bareRoundTrip sends as many bytes as a request has, and waits for them.
func bareRoundTrip(ctx context.Context, n sizes) (sample, error) { return bareEcho(ctx, n, 50) }

// bareEcho sends so many bytes, and waits for them.
func bareEcho(ctx context.Context, n sizes, bytes int) (s sample, err error) {
	err = withLeast(ctx, n, order{Do: "echo"}, func(conn net.Conn) (err error) {
		message := make([]byte, bytes)
		s, err = timeEach(n.roundTrips, func() error {
			if _, err := conn.Write(message); err != nil {
				return err
			}
			_, err := io.ReadFull(conn, message)
			return err
		})
		return err
	})
	return s, err
}

// bareRelay counts the output of argv as it comes from the least server.
func bareRelay(ctx context.Context, n sizes, argv []string) (rate float64, err error) {
	err = withLeast(ctx, n, order{"relay", argv}, func(conn net.Conn) error {
		begin := time.Now()
		in := bufio.NewReaderSize(conn, receiveBuffer)
		received := 0
		for {
			var head [4]byte
			if _, err := io.ReadFull(in, head[:]); err == io.EOF {
				break
			} else if err != nil {
				return err
			}
			length := int(binary.BigEndian.Uint32(head[:]))
			if _, err := in.Discard(base64.StdEncoding.EncodedLen(length)); err != nil {
				return err
			}
			received += length
		}
		if received != n.streamMiB*mebibyte {
			return fmt.Errorf("%s: got %d bytes of %d", argv[0], received, n.streamMiB*mebibyte)
		}
		rate = perSecond(float64(n.streamMiB), begin)
		return nil
	})
	return rate, err
}

// bareRuns keeps as many processes going in the least server as the measure does.
func bareRuns(ctx context.Context, n sizes) (rate float64, err error) {
	err = withLeast(ctx, n, order{"run", trueArgv}, func(conn net.Conn) error {
		begin := time.Now()
		if _, err := conn.Write(make([]byte, min(inFlight, n.parallel))); err != nil {
			return err
		}
		launched, over := min(inFlight, n.parallel), make([]byte, inFlight)
		for finished := 0; finished < n.parallel; {
			got, err := conn.Read(over)
			if err != nil {
				return err
			}
			finished += got
			more := min(got, n.parallel-launched)
			if _, err := conn.Write(over[:more]); err != nil {
				return err
			}
			launched += more
		}
		rate = perSecond(float64(n.parallel), begin)
		return nil
	})
	return rate, err
}

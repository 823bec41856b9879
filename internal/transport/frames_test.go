package transport

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/airlock-exec/airlock/internal/limits"
)

func expectMessage(t *testing.T, c Conn, want []byte) {
	t.Helper()
	got, err := c.Read()
	if err != nil || !bytes.Equal(got, want) {
		t.Fatalf("read %d bytes %.40q, error %v; want %d bytes %.40q", len(got), got, err, len(want), want)
	}
}

// sendAll writes in the background, because the reader may stop in the middle.
func (c *rawClient) sendAll(frames ...[]byte) (wait func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, f := range frames {
			if _, err := c.Write(f); err != nil {
				return
			}
		}
	}()
	return func() { <-done }
}

func TestFramesAccepted(t *testing.T) {
	l, conns := serve(t, Config{})
	filled := func(n int) []byte { return bytes.Repeat([]byte("0123456789abcdef"), n/16) }
	for _, tt := range []struct {
		name   string
		frames [][]byte
		want   []byte
	}{
		{"text", [][]byte{frame(fin|opText, []byte("hé"))}, []byte("hé")},
		{"binary", [][]byte{frame(fin|opBinary, []byte("hé"))}, []byte("hé")},
		{"binary need not be UTF-8", [][]byte{frame(fin|opBinary, []byte("\xff"))}, []byte("\xff")},
		{"empty", [][]byte{frame(fin|opText, nil)}, nil},
		{"126 bytes", [][]byte{frame(fin|opText, filled(126)[:112])}, filled(112)},
		{"64 KiB", [][]byte{frame(fin|opText, filled(64<<10))}, filled(64 << 10)},
		{"fragments", [][]byte{frame(opText, []byte("a")), frame(opContinuation, nil), frame(fin|opContinuation, []byte("b"))}, []byte("ab")},
		{"fragments within a character", [][]byte{frame(opText, []byte("\xc3")), frame(fin|opContinuation, []byte("\xa9"))}, []byte("é")},
		{"buffer grows", [][]byte{frame(fin|opText, filled(3<<20))}, filled(3 << 20)},
		{"stray pong", [][]byte{frame(fin|opPong, []byte("x")), frame(fin|opText, []byte("y"))}, []byte("y")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			client, conn := connect(t, l, conns)
			defer client.sendAll(append(tt.frames, frame(fin|opText, []byte("next")))...)()
			expectMessage(t, conn, tt.want)
			expectMessage(t, conn, []byte("next"))
		})
	}
}

func TestFramesRefused(t *testing.T) {
	l, conns := serve(t, Config{})
	unmasked := []byte{fin | opText, 1, 'x'}
	for _, tt := range []struct {
		name   string
		frames [][]byte
		want   error
		status int // of the close frame; 0 is none
	}{
		{"invalid UTF-8", [][]byte{frame(fin|opText, []byte("a\xff"))}, ErrInvalidUTF8, 1007},
		{"invalid UTF-8 in fragments", [][]byte{frame(opText, []byte("\xc3")), frame(fin|opContinuation, []byte("x"))}, ErrInvalidUTF8, 1007},
		{"cut character", [][]byte{frame(fin|opText, []byte("\xc3"))}, ErrInvalidUTF8, 1007},
		{"unmasked", [][]byte{unmasked}, ErrClosed, 0},
		{"opcode 3", [][]byte{frame(fin|0x3, nil)}, ErrClosed, 1002},
		{"opcode 11", [][]byte{frame(fin|0xB, nil)}, ErrClosed, 1002},
		{"RSV1", [][]byte{frame(fin|rsv1|opText, []byte("x"))}, ErrClosed, 1002},
		{"RSV2", [][]byte{frame(fin|rsv2|opText, []byte("x"))}, ErrClosed, 1002},
		{"RSV3", [][]byte{frame(fin|rsv3|opPing, nil)}, ErrClosed, 1002},
		{"ping of 126 bytes", [][]byte{frame(fin|opPing, make([]byte, 126))}, ErrClosed, 1002},
		{"fragmented ping", [][]byte{frame(opPing, nil)}, ErrClosed, 1002},
		{"continuation of nothing", [][]byte{frame(fin|opContinuation, nil)}, ErrClosed, 1002},
		{"message within a message", [][]byte{frame(opText, nil), frame(fin|opText, nil)}, ErrClosed, 1002},
		{"close frame of one byte", [][]byte{frame(fin|opClose, []byte{3})}, ErrClosed, 1002},
		{"close status 1005", [][]byte{frame(fin|opClose, []byte{0x03, 0xED})}, ErrClosed, 1002},
		{"negative length", [][]byte{{fin | opText, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0}}, ErrClosed, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			client, conn := connect(t, l, conns)
			defer client.sendAll(tt.frames...)()
			if got, err := conn.Read(); !errors.Is(err, tt.want) {
				t.Errorf("read %.20q, %v; want %v", got, err, tt.want)
			}
			if status := client.expectEnd(); status != tt.status {
				t.Errorf("closed with status %d, want %d", status, tt.status)
			}
			if err := conn.Write([][]byte{nil}); !errors.Is(err, tt.want) {
				t.Errorf("write after that: %v", err)
			}
			if _, err := conn.Read(); !errors.Is(err, tt.want) {
				t.Errorf("read after that: %v", err)
			}
		})
	}
}

func TestClientClose(t *testing.T) {
	l, conns := serve(t, Config{})
	t.Run("close frame", func(t *testing.T) {
		client, conn := connect(t, l, conns)
		client.send(frame(fin|opClose, []byte("\x03\xe8bye")))
		if _, err := conn.Read(); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
		if status := client.expectEnd(); status != 1000 {
			t.Errorf("answered with status %d", status)
		}
	})
	t.Run("empty close frame", func(t *testing.T) {
		client, conn := connect(t, l, conns)
		client.send(frame(fin|opClose, nil))
		if _, err := conn.Read(); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
		client.expectEnd()
	})
	for name, sent := range map[string][]byte{
		"TCP only":         nil,
		"within a header":  frame(fin|opText, []byte("abc"))[:1],
		"within a message": frame(fin|opText, []byte("abc"))[:7],
		"in fragments":     frame(opText, []byte("abc")),
	} {
		t.Run(name, func(t *testing.T) {
			client, conn := connect(t, l, conns)
			client.send(sent)
			client.Close()
			// io.EOF would say that the peer still reads.
			if _, err := conn.Read(); !errors.Is(err, ErrClosed) || err == io.EOF {
				t.Error(err)
			}
		})
	}
}

func TestPing(t *testing.T) {
	l, conns := serve(t, Config{})
	client, conn := connect(t, l, conns)
	read := make(chan error, 1)
	go func() { _, err := conn.Read(); read <- err }()

	longest := strings.Repeat("p", 125)
	for _, payload := range []string{"", "a", longest} {
		client.send(frame(fin|opPing, []byte(payload)))
		client.expect(fin|opPong, payload)
	}
	// Between fragments of a message.
	client.send(frame(opText, []byte("a")))
	client.send(frame(fin|opPing, []byte("between")))
	client.expect(fin|opPong, "between")
	// Several at once.
	for _, payload := range []string{"1", "2", "3"} {
		client.send(frame(fin|opPing, []byte(payload)))
	}
	for _, payload := range []string{"1", "2", "3"} {
		client.expect(fin|opPong, payload)
	}
	client.send(frame(fin|opContinuation, []byte("b")))
	if err := <-read; err != nil {
		t.Error(err)
	}
}

// The library answers pings within Read and drops a connection if that takes
// five seconds. A peer that is slow to read but sends pings was dropped by it.
func TestPingOfPeerThatDoesNotRead(t *testing.T) {
	l, conns := serve(t, Config{})
	client, conn := connect(t, l, conns)
	written := make(chan error, 1)
	batch := slices.Repeat([][]byte{make([]byte, limits.FrameBytes)}, 4)
	go func() { written <- conn.Write(batch) }()
	waitForBlockedWrite(t, conn)

	// Far more pings than are remembered, and still the message behind them
	// is read at once.
	payload := bytes.Repeat([]byte("p"), 125)
	for range 2000 {
		client.send(frame(fin|opPing, payload))
	}
	client.send(frame(fin|opPing, []byte("newest")))
	client.send(frame(fin|opText, []byte("hello")))
	expectMessage(t, conn, []byte("hello"))

	_ = client.SetReadDeadline(time.Now().Add(testTimeout))
	for range batch {
		if _, message, err := client.receive(); err != nil || len(message) != limits.FrameBytes {
			t.Fatal(len(message), err)
		}
	}
	if err := <-written; err != nil {
		t.Fatal(err)
	}
	for pongs := 1; ; pongs++ {
		first, got, err := client.receive()
		if err != nil || first != fin|opPong {
			t.Fatalf("got frame %#x, error %v", first, err)
		}
		if string(got) == "newest" {
			if most := maxControlQueue / len(payload); pongs > most {
				t.Errorf("%d pongs were kept, want at most %d", pongs, most)
			}
			break
		}
	}
}

func TestHugeMessages(t *testing.T) {
	if testing.Short() {
		t.Skip("slow with the race detector")
	}
	if limits.MessageBytes != 64<<20 {
		t.Fatal("the test assumes 64 MiB")
	}
	l, conns := serve(t, Config{})
	payload := bytes.Repeat([]byte("0123456789abcdef"), 1<<20)
	first, middle, last := frame(opText, payload), frame(opContinuation, payload), frame(fin|opContinuation, payload)

	client, conn := connect(t, l, conns)
	wait := client.sendAll(
		frame(fin|opText, payload),  // 16 MiB in one frame
		first, middle, middle, last, // 64 MiB
		first, middle, middle, middle, frame(fin|opContinuation, []byte("x")),
	)
	expectMessage(t, conn, payload)
	expectMessage(t, conn, bytes.Repeat(payload, 4))
	if got, err := conn.Read(); err != ErrMessageTooBig {
		t.Errorf("read %d bytes, %v", len(got), err)
	}
	if status := client.expectEnd(); status != 1009 {
		t.Errorf("closed with status %d", status)
	}
	wait()
}

// letters are so many that one part is not like another.
func letters(n int) []byte {
	text := make([]byte, n)
	for i := range text {
		text[i] = 'a' + byte(i%25+i>>20)%26
	}
	return text
}

// A message that is too large for one frame goes in fragments, with either end.
func TestFragments(t *testing.T) {
	l, conns := serve(t, Config{})
	client, conn := connect(t, l, conns)
	for _, tt := range []struct {
		size   int
		frames []int // what each holds
	}{
		{limits.FrameBytes, []int{limits.FrameBytes}},
		{limits.FrameBytes + 1, []int{limits.FrameBytes, 1, 0}},
		{2*limits.FrameBytes + 5, []int{limits.FrameBytes, limits.FrameBytes, 5, 0}},
	} {
		message := letters(tt.size)
		written := make(chan error, 1)
		go func() { written <- conn.Write([][]byte{message, []byte("next")}) }()
		var got []byte
		for i, size := range tt.frames {
			want := byte(opContinuation)
			if i == 0 {
				want = opText
			}
			if i == len(tt.frames)-1 {
				want |= fin
			}
			first, payload, err := client.receive()
			if err != nil || first != want || len(payload) != size {
				t.Fatalf("%d bytes: frame %d begins with %#x and has %d bytes, error %v; want %#x, %d", tt.size, i, first, len(payload), err, want, size)
			}
			got = append(got, payload...)
		}
		if !bytes.Equal(got, message) {
			t.Errorf("%d bytes: other ones came", tt.size)
		}
		client.expect(fin|opText, "next")
		if err := <-written; err != nil {
			t.Error(err)
		}
	}
}

// Fragments of a client are masked, each with its own key.
func TestFragmentsOfClient(t *testing.T) {
	l, conns := serve(t, Config{})
	client, err := Dial(t.Context(), l.URL(), DialOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close(nil)
	conn := <-conns
	message := letters(2*limits.FrameBytes + 5)
	written := make(chan error, 1)
	go func() { written <- client.Write([][]byte{message, []byte("next")}) }()
	expectMessage(t, conn, message)
	expectMessage(t, conn, []byte("next"))
	if err := <-written; err != nil {
		t.Error(err)
	}
}

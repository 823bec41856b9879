package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
)

// serverFrame is a frame as a server sends it: unmasked.
func serverFrame(opcode byte, final bool, payload string) string {
	b := []byte{opcode}
	if final {
		b[0] |= 0x80
	}
	switch n := len(payload); {
	case n < 126:
		b = append(b, byte(n))
	case n <= 0xFFFF:
		b = binary.BigEndian.AppendUint16(append(b, 126), uint16(n))
	default:
		b = binary.BigEndian.AppendUint64(append(b, 127), uint64(n))
	}
	return string(b) + payload
}

// script is a connection whose other end has already said everything.
type script struct {
	net.Conn // nil: no other method is used
	io.Reader
	sent bytes.Buffer
}

func (s *script) Read(p []byte) (int, error)  { return s.Reader.Read(p) }
func (s *script) Write(p []byte) (int, error) { return s.sent.Write(p) }

// scripted returns a connection on which text is received one byte at a time,
// into a buffer that must move and grow.
func scripted(text string) (*wsConn, *script) {
	s := &script{Reader: iotest.OneByteReader(strings.NewReader(text))}
	c := newWSConn(s)
	c.in = make([]byte, 16)
	return c, s
}

func TestAppendFrame(t *testing.T) {
	const mask = 0xA1B2C3D4
	for _, n := range []int{0, 1, 5, 125, 126, 0xFFFF, 0x10000} {
		payload := bytes.Repeat([]byte("airlock"), n/7+1)[:n]
		frame := appendFrame(nil, opText, mask, payload)

		head := serverFrame(opText, true, string(payload))
		head = head[:len(head)-n]
		if frame[0] != head[0] || frame[1] != head[1]|0x80 || string(frame[2:len(head)]) != head[2:] {
			t.Errorf("%d bytes: header % x", n, frame[:len(head)])
		}
		if got := binary.BigEndian.Uint32(frame[len(head):]); got != mask {
			t.Errorf("%d bytes: mask %x", n, got)
		}
		body := frame[len(head)+4:]
		for i := range body {
			body[i] ^= byte(uint32(mask) >> (24 - 8*(i%4)))
		}
		if !bytes.Equal(body, payload) {
			t.Errorf("%d bytes: unmasked payload differs", n)
		}
	}
}

func TestReadMessage(t *testing.T) {
	medium, large := strings.Repeat("m", 300), strings.Repeat("l", 70_000)
	c, s := scripted(serverFrame(opText, true, "one") +
		serverFrame(opText, false, "t") +
		serverFrame(opPing, true, "still there?") +
		serverFrame(opContinuation, false, "w") +
		serverFrame(opContinuation, true, "o") +
		serverFrame(opPong, true, "") +
		serverFrame(opText, true, medium) +
		serverFrame(opBinary, true, large) +
		serverFrame(opText, true, "") +
		serverFrame(opText, true, "last"))
	for _, want := range []string{"one", "two", medium, large, "", "last"} {
		got, err := c.readMessage()
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Fatalf("got %.20q (%d bytes), want %.20q (%d bytes)", got, len(got), want, len(want))
		}
	}
	if _, err := c.readMessage(); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
	frame := s.sent.Bytes()
	if len(frame) < 6 {
		t.Fatalf("the ping was answered with % x", frame)
	}
	want := appendFrame(nil, opPong, binary.BigEndian.Uint32(frame[2:]), []byte("still there?"))
	if !bytes.Equal(frame, want) {
		t.Errorf("the ping was answered with % x", frame)
	}
}

func TestReadMessageRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"mask":           "\x81\x80\x00\x00\x00\x00",
		"reserved bit":   "\xC1\x00",
		"unknown opcode": serverFrame(0x3, true, ""),
		"close":          serverFrame(opClose, true, "\x03\xE8bye"),
		"length":         "\x81\x7F\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF",
		"cut frame":      serverFrame(opText, true, "whole")[:4],
	} {
		c, _ := scripted(text)
		if got, err := c.readMessage(); err == nil {
			t.Errorf("%s: accepted as %q", name, got)
		}
	}
}

// upgrading listens for one client and answers its request with reply, in
// which ACCEPT stands for the right proof.
func upgrading(t *testing.T, reply string) (url string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		tcp, err := listener.Accept()
		if err != nil {
			done <- err
			return
		}
		defer tcp.Close()
		request, err := http.ReadRequest(bufio.NewReader(tcp))
		if err == nil {
			_, err = io.WriteString(tcp, strings.ReplaceAll(reply, "ACCEPT", acceptKey(request.Header.Get("Sec-WebSocket-Key"))))
		}
		done <- err
	}()
	t.Cleanup(func() {
		listener.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return "ws://" + listener.Addr().String()
}

const switching = "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-accept: ACCEPT\r\n\r\n"

func TestDialWebSocket(t *testing.T) {
	// The first message arrives in one piece with the end of the handshake.
	c, err := dialWebSocket(t.Context(), upgrading(t, switching+serverFrame(opText, true, "early")))
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	if got, err := c.readMessage(); err != nil || string(got) != "early" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestDialWebSocketRefused(t *testing.T) {
	for name, reply := range map[string]string{
		"401":         "HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n",
		"wrong proof": strings.Replace(switching, "ACCEPT", "nonsense", 1),
		"not HTTP":    "SSH-2.0-OpenSSH_9.2\r\n\r\n",
		"cut":         "HTTP/1.1 101 Switching Protocols\r\n",
	} {
		if c, err := dialWebSocket(t.Context(), upgrading(t, reply)); err == nil {
			c.close()
			t.Errorf("%s: connected", name)
		}
	}
}

// The example of RFC 6455, section 1.3.
func TestAcceptKey(t *testing.T) {
	if got := acceptKey("dGhlIHNhbXBsZSBub25jZQ=="); got != "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" {
		t.Error(got)
	}
}

// BenchmarkReceive shows how far the client is from being the bottleneck of
// the stream measures. It includes the sending goroutine's share of the
// machine, which in a real run is the server's.
func BenchmarkReceive(b *testing.B) {
	for _, chunk := range []int{8 << 10, 64 << 10} {
		b.Run(fmt.Sprintf("chunk=%d", chunk), func(b *testing.B) {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				b.Fatal(err)
			}
			defer listener.Close()
			text := outputText("stdout", bytes.Repeat([]byte{0}, chunk))
			burst := []byte(strings.Repeat(serverFrame(opText, true, text), max(1, 256<<10/len(text))))
			go func() {
				tcp, err := listener.Accept()
				for err == nil {
					_, err = tcp.Write(burst)
				}
			}()
			tcp, err := net.Dial("tcp", listener.Addr().String())
			if err != nil {
				b.Fatal(err)
			}
			defer tcp.Close()
			c := newWSConn(tcp)
			b.SetBytes(int64(chunk))
			for b.Loop() {
				text, err := c.readMessage()
				if err != nil {
					b.Fatal(err)
				}
				if e, err := parseEvent(text); err != nil || !e.stdout || e.chunkLen() != chunk {
					b.Fatalf("%+v, %v", e, err)
				}
			}
		})
	}
}

package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// Opcodes of RFC 6455, section 5.2.
const (
	opContinuation = 0x0
	opText         = 0x1
	opBinary       = 0x2
	opClose        = 0x8
	opPing         = 0x9
	opPong         = 0xA
)

const (
	// receiveBuffer holds many messages, so that a busy server costs one
	// read call per hundreds of kilobytes.
	receiveBuffer = 512 << 10
	// maxFrame guards against a broken length, not against large output.
	maxFrame = 64 << 20
)

// wsConn is the client's end of a WebSocket. It is made for one goroutine that
// writes a request and then reads until it has seen what it waits for: no
// locks, no hand-over between goroutines, and messages are returned where they
// were received, without a copy.
type wsConn struct {
	tcp     net.Conn
	unwatch func() bool // ends the watch over the dialling context

	in   []byte // in[r:w] is received and not yet consumed
	r, w int

	quick func() // called before each read, if set: see acknowledgeAtOnce

	joined []byte // a message that came in several frames
	out    []byte // the frame being sent
}

// dialWebSocket connects to a ws:// URL. When ctx ends, now or later, all
// reads and writes on the connection fail.
func dialWebSocket(ctx context.Context, rawURL string) (*wsConn, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, fmt.Errorf("parsing its URL: %w", err)
	}
	var dialer net.Dialer
	tcp, err := dialer.DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return nil, fmt.Errorf("connecting: %w", err)
	}
	if err := tcp.(*net.TCPConn).SetNoDelay(true); err != nil {
		tcp.Close()
		return nil, fmt.Errorf("setting TCP_NODELAY: %w", err)
	}
	c := newWSConn(tcp)
	c.unwatch = context.AfterFunc(ctx, func() { _ = tcp.SetDeadline(time.Unix(1, 0)) })
	if err := c.handshake(u.Host); err != nil {
		c.close()
		return nil, fmt.Errorf("upgrading to WebSocket: %w", err)
	}
	return c, nil
}

func newWSConn(tcp net.Conn) *wsConn {
	return &wsConn{tcp: tcp, unwatch: func() bool { return true }, in: make([]byte, receiveBuffer)}
}

func (c *wsConn) close() {
	c.unwatch()
	c.tcp.Close()
}

// handshake asks for the upgrade and checks the answer. What the server sends
// right behind it stays in the buffer.
func (c *wsConn) handshake(host string) error {
	key := base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint64(make([]byte, 8), rand.Uint64()))
	request := "GET / HTTP/1.1\r\nHost: " + host + "\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " + key + "\r\n\r\n"
	if _, err := c.tcp.Write([]byte(request)); err != nil {
		return err
	}
	end := -1
	for end < 0 {
		if err := c.fill(c.w - c.r + 1); err != nil {
			return err
		}
		end = bytes.Index(c.in[c.r:c.w], []byte("\r\n\r\n"))
	}
	head := c.in[c.r : c.r+end+4]
	c.r += len(head)
	response, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(head)), nil)
	if err != nil {
		return err
	}
	response.Body.Close()
	if response.StatusCode != http.StatusSwitchingProtocols {
		return fmt.Errorf("refused with %s", response.Status)
	}
	if got := response.Header.Get("Sec-WebSocket-Accept"); got != acceptKey(key) {
		return fmt.Errorf("wrong Sec-WebSocket-Accept %q", got)
	}
	return nil
}

// acceptKey is the proof of RFC 6455, section 4.2.2, that the server has read
// the key.
func acceptKey(key string) string {
	sum := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// writeText sends one message.
func (c *wsConn) writeText(payload []byte) error { return c.writeFrame(opText, payload) }

func (c *wsConn) writeFrame(opcode byte, payload []byte) error {
	c.out = appendFrame(c.out[:0], opcode, rand.Uint32(), payload)
	_, err := c.tcp.Write(c.out)
	return err
}

// appendFrame appends a final frame, masked with mask as a client must.
func appendFrame(b []byte, opcode byte, mask uint32, payload []byte) []byte {
	const final, masked = 0x80, 0x80
	b = append(b, final|opcode)
	switch n := len(payload); {
	case n < 126:
		b = append(b, masked|byte(n))
	case n <= 0xFFFF:
		b = append(b, masked|126)
		b = binary.BigEndian.AppendUint16(b, uint16(n))
	default:
		b = append(b, masked|127)
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	b = binary.BigEndian.AppendUint32(b, mask)
	return appendMasked(b, mask, payload)
}

// appendMasked appends the payload as it travels, in words: blocks of files are
// sent as fast as servers can read them.
func appendMasked(b []byte, mask uint32, payload []byte) []byte {
	key := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, mask), mask)
	word := binary.NativeEndian.Uint64(key)
	b = slices.Grow(b, len(payload))
	for ; len(payload) >= len(key); payload = payload[len(key):] {
		b = binary.NativeEndian.AppendUint64(b, binary.NativeEndian.Uint64(payload)^word)
	}
	for i, x := range payload {
		b = append(b, x^key[i])
	}
	return b
}

// readMessage returns the next message. It is valid until the next call.
func (c *wsConn) readMessage() ([]byte, error) {
	c.joined = c.joined[:0]
	for {
		opcode, final, payload, err := c.readFrame()
		if err != nil {
			return nil, err
		}
		switch opcode {
		case opText, opBinary, opContinuation:
			if final && len(c.joined) == 0 {
				return payload, nil
			}
			c.joined = append(c.joined, payload...)
			if final {
				return c.joined, nil
			}
		case opPing:
			if err := c.writeFrame(opPong, payload); err != nil {
				return nil, err
			}
		case opPong:
		case opClose:
			return nil, fmt.Errorf("the server closed the connection (%q)", payload)
		default:
			return nil, fmt.Errorf("the server sent a frame with opcode %#x", opcode)
		}
	}
}

// readFrame returns the next frame. The payload is a part of c.in.
func (c *wsConn) readFrame() (opcode byte, final bool, payload []byte, err error) {
	if err := c.fill(2); err != nil {
		return 0, false, nil, err
	}
	first, second := c.in[c.r], c.in[c.r+1]
	if first&0x70 != 0 || second&0x80 != 0 {
		return 0, false, nil, errors.New("the server sent a frame with reserved bits or a mask")
	}
	head, length := 2, uint64(second)
	switch second {
	case 126:
		head = 4
		if err := c.fill(head); err != nil {
			return 0, false, nil, err
		}
		length = uint64(binary.BigEndian.Uint16(c.in[c.r+2:]))
	case 127:
		head = 10
		if err := c.fill(head); err != nil {
			return 0, false, nil, err
		}
		length = binary.BigEndian.Uint64(c.in[c.r+2:])
	}
	if length > maxFrame {
		return 0, false, nil, fmt.Errorf("the server sent a frame of %d bytes", length)
	}
	total := head + int(length)
	if err := c.fill(total); err != nil {
		return 0, false, nil, err
	}
	payload = c.in[c.r+head : c.r+total]
	c.r += total
	return first & 0x0F, first&0x80 != 0, payload, nil
}

// fill receives until n unconsumed bytes stand in one piece at c.in[c.r:].
func (c *wsConn) fill(n int) error {
	if c.r == c.w {
		c.r, c.w = 0, 0
	}
	if c.r+n > len(c.in) {
		room := c.in
		if n > len(room) {
			room = make([]byte, 2*n)
		}
		c.w = copy(room, c.in[c.r:c.w])
		c.r, c.in = 0, room
	}
	for c.w-c.r < n {
		if c.quick != nil {
			c.quick()
		}
		got, err := c.tcp.Read(c.in[c.w:])
		if err != nil {
			return fmt.Errorf("receiving: %w", err)
		}
		c.w += got
	}
	return nil
}

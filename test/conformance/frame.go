package conformance

import (
	"encoding/binary"
	"fmt"
	"io"
)

// Opcodes of WebSocket frames.
const (
	opContinuation = 0x0
	opText         = 0x1
	opBinary       = 0x2
	opClose        = 0x8
	opPing         = 0x9
	opPong         = 0xa
)

// frame is one WebSocket frame. The suite makes them itself, as it has to send
// those that no library would.
type frame struct {
	opcode   byte
	fin      bool
	rsv      byte // the three reserved bits, 4 is RSV1
	unmasked bool // a client must not
	payload  []byte
}

// maxFrame bounds what is read; servers send no more than this.
const maxFrame = 80 << 20

// mask is fixed: it protects proxies from pages, and here is neither.
var mask = [4]byte{0x5a, 0x00, 0xa5, 0x3c}

// append writes a frame of a client.
func (f frame) append(b []byte) []byte {
	first := f.opcode | f.rsv<<4
	if f.fin {
		first |= 0x80
	}
	masked := byte(0x80)
	if f.unmasked {
		masked = 0
	}
	b = append(b, first)
	switch n := len(f.payload); {
	case n < 126:
		b = append(b, masked|byte(n))
	case n < 1<<16:
		b = binary.BigEndian.AppendUint16(append(b, masked|126), uint16(n))
	default:
		b = binary.BigEndian.AppendUint64(append(b, masked|127), uint64(n))
	}
	if f.unmasked {
		return append(b, f.payload...)
	}
	key := mask
	if len(f.payload) > 1<<20 {
		key = [4]byte{} // masks nothing and is legal: megabytes take their time
	}
	b = append(b, key[:]...)
	start := len(b)
	b = append(b, f.payload...)
	if key != [4]byte{} {
		for i := range f.payload {
			b[start+i] ^= key[i%4]
		}
	}
	return b
}

// readFrame reads a frame of a server.
func readFrame(r io.Reader) (frame, error) {
	var head [8]byte
	if _, err := io.ReadFull(r, head[:2]); err != nil {
		return frame{}, err
	}
	f := frame{opcode: head[0] & 0xf, fin: head[0]&0x80 != 0, rsv: head[0] >> 4 & 7, unmasked: head[1]&0x80 == 0}
	length := uint64(head[1] & 0x7f)
	switch length {
	case 126:
		if _, err := io.ReadFull(r, head[:2]); err != nil {
			return frame{}, err
		}
		length = uint64(binary.BigEndian.Uint16(head[:2]))
	case 127:
		if _, err := io.ReadFull(r, head[:8]); err != nil {
			return frame{}, err
		}
		length = binary.BigEndian.Uint64(head[:8])
	}
	if length > maxFrame {
		return frame{}, fmt.Errorf("a frame of %d bytes", length)
	}
	if !f.unmasked {
		return frame{}, fmt.Errorf("a masked frame, which a server must not send")
	}
	f.payload = make([]byte, length)
	_, err := io.ReadFull(r, f.payload)
	return f, err
}

package confined

import (
	"errors"
	"io"
	"slices"
)

// writeFrame writes a frame, and sends a descriptor along unless it is negative.
func (s *socket) writeFrame(k kind, payload []byte, fd int) error {
	return s.write(append(appendHead(make([]byte, 0, headBytes+len(payload)), k, len(payload)), payload...), fd)
}

// pieceBytes is how much more memory is taken at a time for what is said to come.
const pieceBytes = 256 << 10

// readFrame reads a frame, and appends what is in it. [io.EOF] means that none has
// begun.
func (s *socket) readFrame(dst []byte) (kind, []byte, error) {
	var head [headBytes]byte
	if _, err := io.ReadFull(s, head[:]); err != nil {
		return 0, dst, err
	}
	k, left, err := decodeHead(head)
	if err != nil {
		return 0, dst, err
	}
	for left > 0 {
		n := min(left, pieceBytes)
		dst = slices.Grow(dst, n)
		if _, err := io.ReadFull(s, dst[len(dst):len(dst)+n]); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return 0, dst, err
		}
		dst, left = dst[:len(dst)+n], left-n
	}
	return k, dst, nil
}

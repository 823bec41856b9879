package confined

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/airlock-exec/airlock/internal/limits"
)

// What goes between this program and a worker: for each operation the worker is
// sent one end of a connection, over which come the request, in one frame, and the
// answer, in two. That it closes ends the operation.

// kind tells what is in a frame.
type kind byte

const (
	requestFrame kind = iota + 1 // to the worker
	begunFrame                   // the request is there, and is carried out from now on
	resultFrame                  // it has been: JSON
	errorFrame                   // it has failed: a protocol.Error
	fileFrame                    // a file has been opened, whose descriptor comes along
)

// headBytes is the length of the head of a frame: its kind, and the length of what
// follows.
const headBytes = 5

// appendHead appends the head of a frame.
func appendHead(dst []byte, k kind, length int) []byte {
	return binary.BigEndian.AppendUint32(append(dst, byte(k)), uint32(length))
}

// decodeHead reads the head of a frame.
func decodeHead(head [headBytes]byte) (k kind, length int, err error) {
	k, n := kind(head[0]), binary.BigEndian.Uint32(head[1:])
	most := uint32(0)
	switch k {
	case requestFrame:
		most = limits.FileRequestBytes
	case resultFrame, errorFrame:
		most = limits.FileAnswerBytes
	case begunFrame, fileFrame:
	default:
		return 0, 0, fmt.Errorf("there is no frame of kind %d", k)
	}
	if n > most {
		return 0, 0, fmt.Errorf("a frame of kind %d can't have %d bytes", k, n)
	}
	return k, int(n), nil
}

// appendRequest appends what is in the frame of a request: the name of the method
// and its parameters.
func appendRequest(dst []byte, method string, params []byte) []byte {
	dst = append(dst, byte(len(method)))
	dst = append(dst, method...)
	return append(dst, params...)
}

var errCutOff = errors.New("the request is cut off")

// decodeRequest reads what is in the frame of a request.
func decodeRequest(b []byte) (method string, params []byte, err error) {
	if len(b) == 0 || len(b) < 1+int(b[0]) {
		return "", nil, errCutOff
	}
	end := 1 + int(b[0])
	return string(b[1:end]), b[end:], nil
}

package search

import (
	"encoding/base64"
	"encoding/binary"
	"errors"

	"github.com/airlock-exec/airlock/internal/limits"
)

// position is where a search goes on: with the first file that is not before the
// path; within the very file, at the offset.
//
// A position may come from a client that made it up. It only says what to leave
// out: nothing is opened because it is named here.
type position struct {
	path   string
	offset int64
	line   uint64 // the number of the line at the offset, or 0 at no line
	within bool   // whether that is inside of the line, the rest of which is skipped
}

// start returns where to begin in a file.
func (p position) start(rel string) position {
	if p.path == rel && p.line > 0 {
		return p
	}
	return position{path: rel, line: 1}
}

// behind returns the position behind a file: no name has a NUL byte.
func behind(rel string) position { return position{path: rel + "\x00"} }

const (
	cursorVersion = 1
	// mostOffset is more than a file can have, and can be added to.
	mostOffset = 1 << 62
)

// token returns a position as clients get it.
func (q *query) token(p position) string {
	data := []byte{cursorVersion}
	data = binary.BigEndian.AppendUint64(data, q.digest)
	data = binary.AppendUvarint(data, uint64(p.offset))
	word := p.line << 1
	if p.within {
		word |= 1
	}
	data = binary.AppendUvarint(data, word)
	data = append(data, p.path...)
	return base64.RawURLEncoding.EncodeToString(data)
}

var errOtherSearch = errors.New("it belongs to another search; all parameters but maxMatches must be as they were")

// resume returns the position that a client has sent, if any.
func (q *query) resume(token *string) (position, error) {
	if token == nil {
		return position{}, nil
	}
	if len(*token) > limits.SearchCursorBytes {
		return position{}, invalid("after is longer than %d bytes", limits.SearchCursorBytes)
	}
	p, digest, err := parseCursor(*token)
	if err == nil && digest != q.digest {
		err = errOtherSearch
	}
	if err != nil {
		return position{}, invalid("after is not the next of an earlier answer: %v", err)
	}
	return p, nil
}

var errCursor = errors.New("it does not decode")

func parseCursor(token string) (p position, digest uint64, err error) {
	data, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(data) < 9 || data[0] != cursorVersion {
		return position{}, 0, errCursor
	}
	digest = binary.BigEndian.Uint64(data[1:])
	data = data[9:]
	offset, n := binary.Uvarint(data)
	if n <= 0 || offset > mostOffset {
		return position{}, 0, errCursor
	}
	data = data[n:]
	word, n := binary.Uvarint(data)
	line, within := word>>1, word&1 != 0
	if n <= 0 || line > offset+1 || line == 0 && (offset > 0 || within) {
		return position{}, 0, errCursor
	}
	return position{path: string(data[n:]), offset: int64(offset), line: line, within: within}, digest, nil
}

package discover

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync/atomic"
	"unicode/utf8"

	"github.com/airlock-exec/airlock/internal/files/fault"
	"github.com/airlock-exec/airlock/internal/files/regular"
	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
)

// room is what is left of an answer: bytes as they are encoded.
type room struct{ left atomic.Int64 }

func newRoom() *room {
	r := &room{}
	r.left.Store(limits.DiscoveryAnswerBytes)
	return r
}

// take tells whether some texts still fit, and takes the room for them.
func (r *room) take(texts ...string) bool {
	const around = 128 // names of members and punctuation
	size := int64(around)
	for _, text := range texts {
		size += encodedLen(text)
	}
	return r.takeBytes(size)
}

func (r *room) takeBytes(size int64) bool {
	if r.left.Add(-size) >= 0 {
		return true
	}
	r.left.Add(size)
	return false
}

// encodedLen is at least the length of a text as a JSON string.
func encodedLen(text string) int64 {
	n := int64(len(text))
	for i := range len(text) {
		switch c := text[i]; {
		case c < ' ':
			n += int64(len(`\u0000`) - 1)
		case c == '"', c == '\\':
			n++
		}
	}
	return n
}

// bundle reads the files that are told of one folder, and says what it leaves out.
type bundle struct {
	room     *room
	left     int64 // bytes
	warnings []string
	// cut says that there was no room for a warning.
	cut bool
}

func newBundle(room *room) *bundle {
	return &bundle{room: room, left: limits.DiscoveryRootBytes, warnings: []string{}}
}

func (b *bundle) warn(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if b.room.take(text) {
		b.warnings = append(b.warnings, text)
	} else {
		b.cut = true
	}
}

// file reads a file whole; nil if there is none, or if it is left out. What is no
// regular file counts as none.
func (b *bundle) file(path protocol.PathURI) *protocol.CapabilityFile {
	native, err := path.Native()
	if err != nil {
		b.warn("failed to inspect capability file %s: %v", path, err)
		return nil
	}
	data, err := readFile(native, limits.DiscoveryFileBytes)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, regular.ErrNotRegular):
	case errors.Is(err, regular.ErrTooLarge):
		b.warn("capability file %s exceeds the %d-byte limit", path, limits.DiscoveryFileBytes)
	case err != nil:
		b.warn("failed to %s capability file %s: %s", failedStep(native), path, fault.Text(err))
	case int64(len(data)) > b.left:
		b.warn("capability root bundle exceeds the %d-byte limit", limits.DiscoveryRootBytes)
	case !utf8.Valid(data):
		b.warn("capability file %s is not UTF-8: invalid utf-8 sequence from index %d", path, validLen(data))
	case !b.room.take(path.String(), string(data)):
		b.warn("capability file %s is left out: the answer would exceed %d bytes", path, limits.DiscoveryAnswerBytes)
	default:
		b.left -= int64(len(data))
		return &protocol.CapabilityFile{Path: path, Contents: string(data)}
	}
	return nil
}

// failedStep says what can't be done with a file that can't be read.
func failedStep(native string) string {
	if _, err := os.Stat(native); err != nil {
		return "inspect"
	}
	return "read"
}

// validLen returns where what is not UTF-8 begins.
func validLen(data []byte) int {
	n := 0
	for n < len(data) {
		r, size := utf8.DecodeRune(data[n:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		n += size
	}
	return n
}

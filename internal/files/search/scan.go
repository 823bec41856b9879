package search

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/airlock-exec/airlock/internal/files/regular"
	"github.com/airlock-exec/airlock/internal/limits"
)

// match is a line with a match; see [protocol.SearchMatch].
type match struct {
	line       uint64
	offset     int64
	start, end int
	text       string
	textStart  int
}

// found is what there is in a file, or in a part of it.
type found struct {
	matches []match
	bytes   int       // of the texts of the matches
	problem string    // what could not be looked at, if anything
	next    *position // where to go on, if the file has been left before its end
}

// size returns about how much memory it takes.
func (f *found) size() int64 {
	const each = 80 // a match without its text
	return int64(f.bytes + each*len(f.matches))
}

const (
	// headBytes is how much of a file tells whether it is text.
	headBytes = 8 << 10
	// blockBytes is how much is read at once: so little that it stays in the
	// cache of a core. Only for longer lines it is more.
	blockBytes = 128 << 10
)

var blocks = sync.Pool{New: func() any { return new([blockBytes]byte) }}

// scan searches a file from a position on: to its end, or until the time is up,
// or as much is found as there is on a page. It gets on by a line at least.
func (s *search) scan(ctx context.Context, from position) found {
	f, err := s.open(from.path)
	if err != nil {
		return found{problem: problem(err)}
	}
	defer f.Close()
	block := blocks.Get().(*[blockBytes]byte)
	defer blocks.Put(block)
	sc := scanner{search: s, file: f, buf: block[:], at: from}
	if err := sc.run(ctx); err != nil {
		sc.tell(problem(err))
	}
	return sc.found
}

// open opens a file that the walk has come upon. The root is named by the client.
func (s *search) open(rel string) (*regular.File, error) {
	if rel == "" {
		return regular.Open(s.root)
	}
	return regular.OpenListed(s.native(rel))
}

// scanner is at work on one file.
type scanner struct {
	*search
	found
	file   *regular.File
	buf    []byte
	filled int      // how much of buf is of the file
	eof    bool     // whether that is all there is
	at     position // with which buf begins
}

func (sc *scanner) run(ctx context.Context) error {
	if text, err := sc.isText(); !text || err != nil {
		return err
	}
	for {
		if err := sc.fill(); err != nil {
			return err
		}
		sc.block()
		switch {
		case sc.eof && sc.filled == 0:
			return nil
		case sc.full(), sc.ended(ctx):
			at := sc.at
			sc.next = &at
			return nil
		}
	}
}

// ended tells whether the search is to be left, for now or for ever.
func (sc *scanner) ended(ctx context.Context) bool { return sc.over() || ctx.Err() != nil }

// full tells whether as much has been found as there is on a page.
func (sc *scanner) full() bool {
	return len(sc.matches) == sc.most || sc.bytes >= limits.SearchBytes
}

// tell notes what could not be looked at; the first is enough.
func (sc *scanner) tell(problem string) {
	if sc.problem == "" {
		sc.problem = problem
	}
}

// isText judges a file by its beginning.
func (sc *scanner) isText() (bool, error) {
	head := sc.buf[:headBytes]
	if sc.at.offset == 0 {
		head = sc.buf // is searched next
	}
	n, err := sc.file.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return false, err
	}
	if sc.at.offset == 0 {
		sc.filled, sc.eof = n, err == io.EOF
	}
	return bytes.IndexByte(sc.buf[:min(n, headBytes)], 0) < 0, nil
}

// fill reads until there is the end of a line, or more of one than is searched,
// or the end of the file.
func (sc *scanner) fill() error {
	for seen := 0; !sc.eof; {
		if bytes.IndexByte(sc.buf[seen:sc.filled], '\n') >= 0 || sc.filled >= sc.window+len("\r\n") {
			return nil
		}
		seen = sc.filled
		if sc.filled == len(sc.buf) {
			sc.buf = append(sc.buf, make([]byte, len(sc.buf))...)
		}
		n, err := sc.file.ReadAt(sc.buf[sc.filled:], sc.at.offset+int64(sc.filled))
		sc.filled += n
		sc.eof = err == io.EOF
		if err != nil && !sc.eof {
			return err
		}
	}
	return nil
}

// block searches what is in the buffer.
func (sc *scanner) block() {
	data := sc.buf[:sc.filled]
	lineEnd := bytes.LastIndexByte(data, '\n') + 1
	switch {
	case sc.at.within:
		sc.skip(data)
	case sc.eof:
		sc.drop(sc.lines(data))
	case lineEnd > 0:
		sc.drop(sc.lines(data[:lineEnd]))
	default: // a part of a line, more than is searched of one
		sc.lines(data)
		sc.at.within = true
		sc.drop(len(data))
	}
}

// skip drops the rest of a line that is not searched.
func (sc *scanner) skip(data []byte) {
	n := len(data)
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		n = i + 1
		sc.at.within = false
	}
	sc.drop(n)
}

// drop removes from the buffer what has been searched.
func (sc *scanner) drop(n int) {
	sc.at.line += lineFeeds(sc.buf[:n])
	sc.at.offset += int64(n)
	sc.filled = copy(sc.buf, sc.buf[n:sc.filled])
}

func lineFeeds(data []byte) uint64 { return uint64(bytes.Count(data, []byte{'\n'})) }

// lines searches lines, and returns how much of them: it leaves off when enough
// has been found, or the time is up.
func (sc *scanner) lines(data []byte) int {
	number, counted := sc.at.line, 0 // the line that begins at counted
	untold := 0                      // bytes searched since the time has been asked for
	for pos := 0; pos < len(data); {
		begin, end := sc.candidate(data, pos)
		if begin < 0 {
			break
		}
		number += lineFeeds(data[counted:begin])
		counted = begin
		sc.line(data[begin:end], number, sc.at.offset+int64(begin))
		if sc.full() {
			return end
		}
		if untold += end - begin; sc.re != nil && untold >= sc.window/16 {
			untold = 0
			if sc.over() {
				return end
			}
		}
		pos = end
	}
	return len(data)
}

// candidate returns the next line that may have a match, with its end; begin is
// -1 if there is none.
func (sc *scanner) candidate(data []byte, pos int) (begin, end int) {
	begin = pos
	if sc.hint != nil {
		i := sc.hint(data[pos:])
		if i < 0 {
			return -1, 0
		}
		begin = pos + bytes.LastIndexByte(data[pos:pos+i], '\n') + 1
		pos += i
	}
	if i := bytes.IndexByte(data[pos:], '\n'); i >= 0 {
		return begin, pos + i + 1
	}
	return begin, len(data)
}

// line searches a line, which comes with its end.
func (sc *scanner) line(line []byte, number uint64, offset int64) {
	if whole, ok := bytes.CutSuffix(line, []byte("\n")); ok {
		line, _ = bytes.CutSuffix(whole, []byte("\r"))
	}
	cut := len(line) > sc.window
	if cut {
		line = line[:sc.window]
		sc.tell(fmt.Sprintf("line %d is longer than %d bytes; what is behind them has not been searched",
			number, sc.window))
	}
	start, end, ok := sc.find(line, cut)
	if !ok {
		return
	}
	m := match{line: number, offset: offset, start: start, end: end}
	m.text, m.textStart = excerpt(line, start)
	sc.matches = append(sc.matches, m)
	sc.bytes += len(m.text)
}

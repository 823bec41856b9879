package process

import (
	"bytes"
	"strings"
	"sync"
	"time"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/internal/outlog"
	"github.com/airlock-exec/airlock/internal/spawn"
)

// denialWords are what a program says that its sandbox has stopped, in lower case.
// The list, and all of the guess, is the dialect's.
var denialWords = []string{
	"operation not permitted",
	"permission denied",
	"read-only file system",
	"seccomp",
	"sandbox",
	"landlock",
	"failed to write file",
}

// badSystemCall is the exit code of who was killed by a filter of system calls, with
// Linux's SIGSYS.
const badSystemCall = 128 + 31

// looksDenied guesses whether it was its sandbox that made a program fail, by its
// exit code and the newest of its output.
func looksDenied(code int, output []outlog.Chunk) bool {
	return code != 0 && (speaksOfDenial(output) || code == badSystemCall)
}

// speaksOfDenial tells whether one of the words is in what a stream has had, or in
// all of them together in the order in which it came.
func speaksOfDenial(output []outlog.Chunk) bool {
	total := 0
	var streams [spawn.Terminal + 1]int
	for _, c := range output {
		total += len(c.Data)
		streams[c.Stream] += len(c.Data)
	}
	text := make([]byte, 0, total)
	for _, c := range output {
		text = append(text, c.Data...)
	}
	if hasDenialWord(text) {
		return true
	}
	for stream, size := range streams {
		if size == 0 || size == total {
			continue // it is empty, or has been looked at
		}
		text = text[:0]
		for _, c := range output {
			if int(c.Stream) == stream {
				text = append(text, c.Data...)
			}
		}
		if hasDenialWord(text) {
			return true
		}
	}
	return false
}

// hasDenialWord looks for the words, whatever their case. What is no UTF-8 can be
// no part of one.
func hasDenialWord(text []byte) bool {
	f := denialFilter()
	for i := 0; i+len(f) <= len(text); i++ {
		if f[0][text[i]]&f[1][text[i+1]]&f[2][text[i+2]]&f[3][text[i+3]] == 0 {
			continue // so it is nearly everywhere
		}
		for _, word := range denialWords {
			if beginsWith(text[i:], word) {
				return true
			}
		}
	}
	return false
}

// denialFilter tells for each of the first bytes of a text which of the words, each
// a bit, may begin so.
var denialFilter = sync.OnceValue(func() *[4][256]byte {
	var f [4][256]byte
	for bit, word := range denialWords {
		for i := range f {
			f[i][word[i]] |= 1 << bit
			f[i][strings.ToUpper(word)[i]] |= 1 << bit
		}
	}
	return &f
})

const (
	caseBit = 'a' - 'A' // by which letters of ASCII differ from capitals
	kelvin  = "\u212a"  // the one other character whose lower case is ASCII: k
)

// beginsWith tells whether a text begins with a word in lower case, whatever the
// case of the text.
func beginsWith(text []byte, word string) bool {
	for i := range len(word) {
		switch w := word[i]; {
		case len(text) == 0:
			return false
		case text[0] == w, 'a' <= w && w <= 'z' && text[0] == w-caseBit:
			text = text[1:]
		case w == 'k' && bytes.HasPrefix(text, []byte(kelvin)):
			text = text[len(kelvin):]
		default:
			return false
		}
	}
	return true
}

// wasDenied guesses the same of a process that has exited. Who was confined may
// have left behind others that are just saying so: the dialect waits a little for
// the next thing that is said, unless there is nobody left who could.
func (p *Process) wasDenied(code int) bool {
	if !p.confined || code == 0 || p.child.SetupFailure() != nil {
		return false
	}
	if p.child.Lingered() {
		p.mu.Lock()
		news := p.nextNews()
		p.mu.Unlock()
		timer := time.NewTimer(limits.DenialWait)
		defer timer.Stop()
		select {
		case <-news:
		case <-p.child.Silent():
		case <-timer.C:
		}
	}
	return looksDenied(code, p.log.Newest(limits.RetainedBytes))
}

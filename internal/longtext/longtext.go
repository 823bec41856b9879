// Package longtext finds the long string in a JSON text that has one, such as a
// block of a file in base64. Decoders look at each byte of a string by itself;
// what is plain needs no such look, and can be left out of what they are given.
package longtext

import (
	"bytes"

	"github.com/segmentio/asm/ascii"
)

const (
	// Least is the length from which a string is worth it.
	Least = 16 << 10
	// looks is how many strings are looked at: in messages with a long one it is
	// among the first.
	looks = 64
)

// Find returns where the content of a long string begins and ends in a JSON text.
// It has no escapes and nothing but printable ASCII, and is no member's name. In
// text that is not JSON it may find anything, but then so that the text is not
// JSON without the content either.
func Find(text []byte) (begin, end int, found bool) {
	at := 0
	for range looks {
		if len(text)-at < Least {
			break
		}
		quote := bytes.IndexByte(text[at:], '"')
		if quote < 0 {
			break
		}
		begin = at + quote + 1
		if end, found = endOf(text, begin); !found {
			break
		}
		at = end + 1
		if end-begin >= Least && plain(text[begin:end]) && !isName(text[at:]) {
			return begin, end, true
		}
	}
	return 0, 0, false
}

// endOf returns where the string ends whose content begins there: at the first
// quote with no backslash before it, or an even number of them.
func endOf(text []byte, begin int) (end int, found bool) {
	for end = begin; ; end++ {
		quote := bytes.IndexByte(text[end:], '"')
		if quote < 0 {
			return 0, false
		}
		end += quote
		before := text[begin:end]
		if (len(before)-len(bytes.TrimRight(before, `\`)))%2 == 0 {
			return end, true
		}
	}
}

// plain tells whether text is printable ASCII without backslashes.
func plain(text []byte) bool { return bytes.IndexByte(text, '\\') < 0 && ascii.ValidPrint(text) }

// isName tells whether a string is a member's name by what follows it.
func isName(behind []byte) bool {
	behind = bytes.TrimLeft(behind, " \t\r\n")
	return len(behind) > 0 && behind[0] == ':'
}

// Package longtext finds the long string in a JSON text that has one, such as a
// block of a file in base64. Decoders look at each byte of a string by itself;
// what is plain needs no such look, and can be left out of what they are given.
package longtext

import (
	"bytes"
	"encoding/binary"
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

// endOf returns where the string ends whose content begins there.
func endOf(text []byte, begin int) (end int, found bool) {
	for {
		quote := bytes.IndexByte(text[begin:], '"')
		if quote < 0 {
			return 0, false
		}
		escape := bytes.IndexByte(text[begin:begin+quote], '\\')
		if escape < 0 {
			return begin + quote, true
		}
		if begin += escape + 2; begin > len(text) {
			return 0, false
		}
	}
}

// isName tells whether a string is a member's name by what follows it.
func isName(behind []byte) bool {
	behind = bytes.TrimLeft(behind, " \t\r\n")
	return len(behind) > 0 && behind[0] == ':'
}

// plain tells whether text is printable ASCII without backslashes.
func plain(text []byte) bool {
	var bad uint64
	for ; len(text) >= 32; text = text[32:] {
		bad |= unplain(text[0:8]) | unplain(text[8:16]) | unplain(text[16:24]) | unplain(text[24:32])
	}
	for _, c := range text {
		if c < 0x20 || c >= 0x80 || c == '\\' {
			return false
		}
	}
	return bad&highBits == 0
}

const (
	lowBits  = 0x0101010101010101
	highBits = 0x80 * lowBits
)

// unplain has some of highBits if one of eight bytes is not plain: the
// subtractions carry into the highest bit of a byte that is less than a blank, or
// that is a backslash.
func unplain(text []byte) uint64 {
	word := binary.NativeEndian.Uint64(text)
	other := word ^ '\\'*lowBits
	return word | (word-' '*lowBits)&^word | (other-lowBits)&^other
}

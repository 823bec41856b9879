package search

import (
	"bytes"
	"unicode/utf8"

	"github.com/airlock-exec/airlock/internal/limits"
)

// excerpt returns a line, or of a long one what is around a match, and where that
// begins in the line.
func excerpt(line []byte, match int) (text string, begin int) {
	end := len(line)
	if len(line) > limits.SearchTextBytes {
		begin = min(max(0, match-limits.SearchTextBytes/4), len(line)-limits.SearchTextBytes)
		end = begin + limits.SearchTextBytes
		begin = boundary(line, begin, match)
		if end < len(line) {
			end -= partial(line[begin:end])
		}
	}
	return valid(line[begin:end]), begin
}

// valid returns a text with U+FFFD in place of each byte that is not UTF-8.
func valid(text []byte) string {
	if utf8.Valid(text) {
		return string(text)
	}
	return string(bytes.Runes(text))
}

// boundary returns where the next character begins, if that is near and not
// behind the limit.
func boundary(line []byte, at, limit int) int {
	for i := at; i <= limit && i < at+utf8.UTFMax; i++ {
		if utf8.RuneStart(line[i]) {
			return i
		}
	}
	return at
}

// partial returns how many bytes at the end of a text are the beginning of a
// character.
func partial(text []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if tail := text[len(text)-n:]; utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}

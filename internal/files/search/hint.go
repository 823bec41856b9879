package search

import (
	"bytes"
	"regexp/syntax"
	"strings"
	"unicode"
	"unicode/utf8"
)

// hint returns a function that finds the longest text that is in every match of
// an expression, or nil if there is none.
func hint(tree *syntax.Regexp) func(data []byte) int {
	exact, folded := required(tree)
	switch {
	case exact == "" && folded == "":
		return nil
	case len(exact) >= len(folded):
		text := []byte(exact)
		return func(data []byte) int { return bytes.Index(data, text) }
	}
	return newFolded(folded).index
}

// required returns the longest text that is in every match, and the longest that
// is so in upper or lower case. The latter is in lower case.
func required(tree *syntax.Regexp) (exact, folded string) {
	switch tree.Op {
	case syntax.OpLiteral:
		if tree.Flags&syntax.FoldCase != 0 {
			return "", foldable(tree.Rune)
		}
		return plain(tree.Rune), ""
	case syntax.OpCapture, syntax.OpPlus:
		return required(tree.Sub[0])
	case syntax.OpRepeat:
		if tree.Min > 0 {
			return required(tree.Sub[0])
		}
	case syntax.OpConcat:
		for _, sub := range tree.Sub {
			e, f := required(sub)
			if len(e) > len(exact) {
				exact = e
			}
			if len(f) > len(folded) {
				folded = f
			}
		}
	default:
	}
	return exact, folded
}

// plain returns the text of a literal; none of one with U+FFFD, which an
// expression takes for any byte that is not UTF-8, too.
func plain(runes []rune) string {
	text := string(runes)
	if strings.ContainsRune(text, utf8.RuneError) {
		return ""
	}
	return text
}

// foldable returns the longest part of a literal in which every character has no
// other forms than the upper and lower case of ASCII.
func foldable(runes []rune) string {
	longest, from := "", 0
	text := make([]byte, len(runes))
	for i, r := range runes {
		if !foldsInASCII(r) {
			from = i + 1
			continue
		}
		text[i] = byte(unicode.ToLower(r))
		if part := text[from : i+1]; len(part) > len(longest) {
			longest = string(part)
		}
	}
	return longest
}

func foldsInASCII(r rune) bool {
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		if f >= utf8.RuneSelf {
			return false
		}
	}
	return r < utf8.RuneSelf
}

// folded finds a text of ASCII in upper or lower case, by its rarest byte.
type folded struct {
	text         []byte // in lower case
	at           int    // where the rarest byte is
	lower, upper byte
}

// common are bytes of texts, the most common first. Others are rarer.
const common = " etaoinsrhldcumfpgwybvkxjqz.,_-()"

func newFolded(text string) *folded {
	rarity := func(c byte) int {
		if i := strings.IndexByte(common, c); i >= 0 {
			return i
		}
		return len(common)
	}
	f := &folded{text: []byte(text)}
	for i := range text {
		if rarity(text[i]) > rarity(text[f.at]) {
			f.at = i
		}
	}
	f.lower = text[f.at]
	f.upper = byte(unicode.ToUpper(rune(f.lower)))
	return f
}

// index returns where the text is first, or -1.
func (f *folded) index(data []byte) int {
	next := func(c byte, from int) int {
		if i := bytes.IndexByte(data[from:], c); i >= 0 {
			return from + i
		}
		return len(data)
	}
	lower, upper := next(f.lower, 0), len(data)
	if f.upper != f.lower {
		upper = next(f.upper, 0)
	}
	for {
		i := min(lower, upper)
		if i == len(data) {
			return -1
		}
		if begin := i - f.at; begin >= 0 && f.matches(data[begin:]) {
			return begin
		}
		if i == lower {
			lower = next(f.lower, i+1)
		} else {
			upper = next(f.upper, i+1)
		}
	}
}

// matches tells whether data begins with the text.
func (f *folded) matches(data []byte) bool {
	if len(data) < len(f.text) {
		return false
	}
	for i, want := range f.text {
		c := data[i]
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		if c != want {
			return false
		}
	}
	return true
}

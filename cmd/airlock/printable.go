package main

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// printable makes a text safe to be shown on a terminal, whoever has chosen it:
// what is not a printable character, such as those that move the cursor or turn
// the direction of writing, is shown as it is written in Go, and so are
// backslashes. The result is one line.
func printable(text string) string {
	if !strings.ContainsFunc(text, mustEscape) && utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && n == 1:
			b.WriteString(`\x` + strconv.FormatUint(uint64(text[0])|0x100, 16)[1:])
		case mustEscape(r):
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		default:
			b.WriteRune(r)
		}
		text = text[n:]
	}
	return b.String()
}

func mustEscape(r rune) bool { return !unicode.IsPrint(r) || r == '\\' }

// printableJSON makes a JSON text safe to be shown on a terminal: in its strings, what
// is not a printable character is written as \uXXXX, which means the same.
func printableJSON(text []byte) []byte {
	var safe []byte
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		switch {
		case unicode.IsPrint(r) || r == '\n': // outside of strings, where alone that is
			safe = append(safe, text[:n]...)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			safe = fmt.Appendf(safe, `\u%04x\u%04x`, high, low)
		default:
			safe = fmt.Appendf(safe, `\u%04x`, r)
		}
		text = text[n:]
	}
	return safe
}

// printableLines is printable, except that lines stay lines.
func printableLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.ReplaceAll(printable(line), `\\`, `\`) // an error may quote
	}
	return strings.Join(lines, "\n")
}

// shellWords shows a command as one would type it, safely.
func shellWords(argv []string) string {
	words := make([]string, len(argv))
	for i, word := range argv {
		words[i] = shellWord(word)
	}
	return strings.Join(words, " ")
}

func shellWord(word string) string {
	shown := printable(word)
	plain := func(r rune) bool {
		return r > unicode.MaxASCII || unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("%+,-./:=@_^", r)
	}
	switch {
	case shown != word:
		return "$'" + strings.ReplaceAll(shown, "'", `\'`) + "'"
	case word == "" || strings.ContainsFunc(word, func(r rune) bool { return !plain(r) }):
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return word
}

// width is how many columns of a terminal a printable text takes, as far as that
// can be told without its font.
func width(text string) int {
	n := 0
	for _, r := range text {
		n += runeWidth(r)
	}
	return n
}

// wide are the characters that take two columns.
var wide = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x1100, 0x115f, 1},
		{0x2e80, 0x303e, 1},
		{0x3041, 0xa4cf, 1},
		{0xa960, 0xa97f, 1},
		{0xac00, 0xd7a3, 1},
		{0xf900, 0xfaff, 1},
		{0xfe30, 0xfe6f, 1},
		{0xff01, 0xff60, 1},
		{0xffe0, 0xffe6, 1},
	},
	R32: []unicode.Range32{{0x1f300, 0x1faff, 1}, {0x20000, 0x3fffd, 1}},
}

func runeWidth(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	case unicode.Is(wide, r):
		return 2
	}
	return 1
}

// cut shortens a printable text to so many columns.
func cut(text string, columns int) string {
	if width(text) <= columns {
		return text
	}
	taken := 0
	for i, r := range text {
		if taken += runeWidth(r); taken > columns-1 {
			return text[:i] + "…"
		}
	}
	return text
}

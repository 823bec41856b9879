package yaml

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// value reads what a line goes on with, behind a name or a dash, and the lines
// below that are indented farther than indent. The line itself has been taken.
func (p *parser) value(rest string, indent int) (*Node, error) {
	switch rest[0] {
	case '|', '>':
		if header := blockHeader().FindStringSubmatch(rest); header != nil {
			return p.blockScalar(header[1], indent), nil
		}
	case '"', '\'':
		return p.quoted(rest)
	case '[', '{':
		if node := p.flow(rest); node != nil {
			return node, nil
		}
	}
	return p.plain(rest, indent), nil
}

// plain reads text without quotes, which may go on over lines.
func (p *parser) plain(rest string, indent int) *Node {
	var text strings.Builder
	text.WriteString(cutComment(rest))
	for {
		next := p.at
		for next < len(p.lines) && strings.TrimSpace(p.lines[next]) == "" {
			next++
		}
		if next == len(p.lines) {
			break
		}
		at, line := cutIndent(p.lines[next])
		if at <= indent || line[0] == '#' || line[0] == '\t' || at == 0 && (isMark(line, "---") || isMark(line, "...")) {
			break
		}
		text.WriteString(" " + cutComment(line))
		p.at = next + 1
	}
	return &Node{Text: text.String()}
}

// cutComment drops a comment, which has a blank before it.
func cutComment(line string) string {
	for i := 1; i < len(line); i++ {
		if line[i] == '#' && (line[i-1] == ' ' || line[i-1] == '\t') {
			line = line[:i]
		}
	}
	return strings.TrimSpace(line)
}

// quoted reads text in quotes, which may go on over lines.
func (p *parser) quoted(rest string) (*Node, error) {
	quote, line := rest[0], rest[1:]
	var raw strings.Builder
	for {
		end := closing(line, quote)
		if end >= 0 {
			raw.WriteString(line[:end])
			if tail := line[end+1:]; !isNothing(tail) {
				return nil, errors.New("something follows the closing quote")
			}
			break
		}
		if p.at == len(p.lines) {
			return nil, errors.New("the closing quote is missing")
		}
		for p.at < len(p.lines)-1 && strings.TrimSpace(p.lines[p.at]) == "" {
			p.at++
		}
		raw.WriteString(strings.TrimRight(line, " \t") + " ")
		line = strings.TrimSpace(p.lines[p.at])
		p.at++
	}
	text, err := unquote(raw.String(), quote)
	return &Node{Text: text, Quoted: true}, err
}

// closing returns where a quoted text ends, -1 if it goes on.
func closing(text string, quote byte) int {
	for i := 0; i < len(text); i++ {
		switch {
		case quote == '"' && text[i] == '\\':
			i++
		case text[i] != quote:
		case quote == '\'' && i+1 < len(text) && text[i+1] == quote:
			i++
		default:
			return i
		}
	}
	return -1
}

// escapes are what follows a backslash between double quotes.
const escapes = "0\x00a\ab\bt\t\t\tn\nv\vf\fr\re\x1b  \"\"//\\\\N\u0085_\u00a0L\u2028P\u2029"

// unquote returns what stands between quotes.
func unquote(raw string, quote byte) (string, error) {
	if quote == '\'' {
		return strings.ReplaceAll(raw, "''", "'"), nil
	}
	var text strings.Builder
	for {
		before, rest, found := strings.Cut(raw, `\`)
		text.WriteString(before)
		if !found {
			return text.String(), nil
		}
		r, size, err := unescape(rest)
		if err != nil {
			return "", err
		}
		text.WriteRune(r)
		raw = rest[size:]
	}
}

// unescape returns what is meant by what follows a backslash, and its length.
func unescape(rest string) (r rune, size int, err error) {
	bad := func() (rune, int, error) {
		return 0, 0, fmt.Errorf(`there is no escape \%.1s`, rest)
	}
	first, size := utf8.DecodeRuneInString(rest)
	if size == 0 {
		return bad()
	}
	if digits := map[rune]int{'x': 2, 'u': 4, 'U': 8}[first]; digits > 0 {
		if len(rest) <= digits {
			return bad()
		}
		n, err := strconv.ParseUint(rest[1:1+digits], 16, 32)
		if err != nil || !utf8.ValidRune(rune(n)) {
			return bad()
		}
		return rune(n), 1 + digits, nil
	}
	known := []rune(escapes)
	for i := 0; i < len(known); i += 2 {
		if known[i] == first {
			return known[i+1], size, nil
		}
	}
	return bad()
}

// blockHeader is what announces a block of text, and may say how far it is indented.
var blockHeader = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[|>][+-]?([1-9]?)[+-]?(?:[ \t]+#.*|[ \t]*)$`)
})

// blockScalar reads a block of text that is indented farther than indent.
func (p *parser) blockScalar(explicit string, indent int) *Node {
	margin := 0
	if explicit != "" {
		margin = max(indent, 0) + int(explicit[0]-'0')
	}
	var words []string
	for ; p.at < len(p.lines); p.at++ {
		at, line := cutIndent(p.lines[p.at])
		if strings.TrimSpace(line) == "" {
			continue
		}
		if margin == 0 && at > indent {
			margin = max(at, 1)
		}
		if at < margin || margin == 0 {
			break
		}
		words = append(words, strings.Fields(line)...)
	}
	return &Node{Text: strings.Join(words, " "), Quoted: true}
}

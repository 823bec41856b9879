package search

import (
	"bytes"
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/airlock-exec/airlock/internal/limits"
)

// matcher finds what is looked for, within lines.
type matcher struct {
	text []byte         // the text to find, unless there is an expression
	re   *regexp.Regexp // nil for a text
	// hint finds what every match contains, so that most lines need no further
	// look. It is nil if there is no such thing.
	hint func(data []byte) int
	// window is how much of a line is searched, so that one line takes a
	// bounded time.
	window int
}

// newMatcher judges a pattern.
func newMatcher(pattern string, expression, ignoreCase bool) (*matcher, error) {
	switch {
	case pattern == "":
		return nil, invalid("pattern must not be empty")
	case len(pattern) > limits.SearchPatternBytes:
		return nil, invalid("pattern is longer than %d bytes", limits.SearchPatternBytes)
	case !expression && strings.Contains(pattern, "\n"):
		return nil, invalid("pattern contains a line feed, but lines are searched one by one")
	case !expression && !ignoreCase:
		text := []byte(pattern)
		return &matcher{
			text: text, window: limits.SearchLineBytes,
			hint: func(data []byte) int { return bytes.Index(data, text) },
		}, nil
	case !expression:
		pattern = regexp.QuoteMeta(pattern)
	}
	flags := syntax.Perl
	if ignoreCase {
		flags |= syntax.FoldCase
		pattern = "(?i)" + pattern
	}
	tree, err := syntax.Parse(pattern, flags)
	if err != nil {
		return nil, invalid("pattern is not a regular expression in the syntax of RE2: %v", err)
	}
	steps := size(tree)
	if steps > limits.SearchSteps {
		return nil, invalid("pattern has repetitions that make it too large to be searched for; repeat less")
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, invalid("pattern is not a regular expression in the syntax of RE2: %v", err)
	}
	return &matcher{re: re, hint: hint(tree), window: min(limits.SearchLineBytes, limits.SearchLineSteps/steps)}, nil
}

// find returns where the first match in a line begins and ends. A line that has
// been cut has no match at the cut: it might be none with what follows.
func (m *matcher) find(line []byte, cut bool) (start, end int, ok bool) {
	if m.re == nil {
		start = bytes.Index(line, m.text)
		return start, start + len(m.text), start >= 0
	}
	found := m.re.FindIndex(line)
	if found == nil || cut && found[1] == len(line) {
		return 0, 0, false
	}
	return found[0], found[1], true
}

// size bounds how many steps a byte of text can take, and how large the compiled
// expression is: repetitions are written out in it.
func size(tree *syntax.Regexp) int {
	total := 1
	switch tree.Op {
	case syntax.OpLiteral:
		total = len(tree.Rune)
	case syntax.OpRepeat:
		times := max(tree.Min+1, tree.Max)
		return min(1+times*(1+size(tree.Sub[0])), tooLarge)
	default:
	}
	for _, sub := range tree.Sub {
		total += 1 + size(sub)
	}
	return min(total, tooLarge)
}

// tooLarge is large enough to be refused, and can't overflow when repeated.
const tooLarge = limits.SearchSteps + 1

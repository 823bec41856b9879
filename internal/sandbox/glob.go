package sandbox

import (
	"regexp"
	"strings"
)

// globBase returns the directory that a pattern is looked for below: "" if there is
// none but the root, or no pattern at all.
func globBase(pattern string) string {
	if !strings.ContainsAny(pattern, "*?[]") {
		return "" // the dialect takes braces alone for no pattern
	}
	first := strings.IndexAny(pattern, `*?[]{\`)
	return pattern[:max(0, strings.LastIndexByte(pattern[:first], '/'))]
}

// matcher is what the paths match that a pattern means.
type matcher struct {
	path *regexp.Regexp
	name *regexp.Regexp // what the last component matches anyway; nil if it is not known
}

// matches tells whether a path, which ends with a name, is meant. Most are not by their
// names, which takes less to find out.
func (m *matcher) matches(path, name string) bool {
	return (m.name == nil || m.name.MatchString(name)) && m.path.MatchString(path)
}

func newMatcher(pattern string) (*matcher, error) {
	path, err := compileGlob(pattern)
	if err != nil {
		return nil, err
	}
	m := &matcher{path: path}
	if !strings.Contains(pattern, "{") { // which may hold components
		m.name, err = compileGlob(pattern[strings.LastIndexByte(pattern, '/')+1:])
	}
	return m, err
}

// compileGlob returns an expression that the paths match which an absolute pattern
// means. Within a component * stands for any text, ? for a character, [a-z] for one
// of several and [!a-z] for another one; ** as a component stands for any number of
// them, {a,b} for either; a backslash takes away the meaning of what follows. What is
// not closed stands for itself.
func compileGlob(pattern string) (*regexp.Regexp, error) {
	pattern = string([]rune(pattern)) // what is not UTF-8 stands for anything that is not
	classes := classesOf(pattern)
	closed := closedBraces(pattern, classes)
	var b strings.Builder
	b.WriteString(`\A`)
	open := 0 // braces
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '/' && doubleStar(pattern[i+1:]):
			i += len("**")
			if i+1 == len(pattern) {
				b.WriteString(`/.+`)
			} else {
				b.WriteString(`(?:/[^/]+)*`)
			}
		case c == '*':
			for i+1 < len(pattern) && pattern[i+1] == '*' {
				i++
			}
			b.WriteString(`[^/]*`)
		case c == '?':
			b.WriteString(`[^/]`)
		case c == '[' && classes[i].length > 0:
			b.WriteString(classes[i].expression)
			i += classes[i].length - 1
		case c == '{' && closed[i]:
			open++
			b.WriteString(`(?:`)
		case c == ',' && open > 0:
			b.WriteByte('|')
		case c == '}' && open > 0:
			open--
			b.WriteByte(')')
		case c == '\\' && i+1 < len(pattern):
			i++
			b.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
		default:
			b.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
		}
	}
	b.WriteString(`\z`)
	return regexp.Compile(`(?s)` + b.String())
}

// doubleStar tells whether the next component is **.
func doubleStar(rest string) bool {
	after, found := strings.CutPrefix(rest, "**")
	return found && (after == "" || after[0] == '/')
}

// class is a set of characters.
type class struct {
	expression string
	length     int // in the pattern
}

// classesOf finds the sets of characters in a pattern, by where they begin.
func classesOf(pattern string) map[int]class {
	all := make(map[int]class)
	open := 0 // up to where no set is closed
	for i := 0; i < len(pattern); i++ {
		switch {
		case pattern[i] == '\\':
			i++
		case pattern[i] == '[' && i >= open:
			expression, length, end := classOf(pattern[i:])
			if length == 0 {
				open = i + end
				continue
			}
			all[i] = class{expression, length}
			i += length - 1
		}
	}
	return all
}

// closedBraces tells of each brace that opens whether it is closed.
func closedBraces(pattern string, classes map[int]class) map[int]bool {
	closed := make(map[int]bool)
	var open []int
	for i := 0; i < len(pattern); i++ {
		switch pattern[i] {
		case '\\':
			i++
		case '[':
			i += max(classes[i].length, 1) - 1
		case '{':
			open = append(open, i)
		case '}':
			if len(open) > 0 {
				closed[open[len(open)-1]] = true
				open = open[:len(open)-1]
			}
		}
	}
	return closed
}

// classOf translates the set of characters that a text begins with; length is 0 if it
// is none. Then no other one begins before end.
func classOf(text string) (expression string, length, end int) {
	i, negated := 1, ""
	if i < len(text) && (text[i] == '!' || text[i] == '^') {
		negated = "^/"
		i++
	}
	var b strings.Builder
	for from := i; i < len(text); i++ {
		c := text[i]
		switch {
		case c == ']' && i > from:
			expression = "[" + negated + b.String() + "]"
			if _, err := regexp.Compile(expression); err != nil {
				return "", 0, i + 1
			}
			return expression, i + 1, i + 1
		case c == '/', c == '\\' && i+1 < len(text) && text[i+1] == '/':
			return "", 0, i
		case c == '-' && i > from && i+1 < len(text) && text[i+1] != ']':
			b.WriteByte('-')
		case c == '\\' && i+1 < len(text):
			i++
			b.WriteString(classMeta(text[i]))
		default:
			b.WriteString(classMeta(c))
		}
	}
	return "", 0, len(text)
}

// classMeta spells a byte within a set.
func classMeta(c byte) string {
	if strings.IndexByte(`[]^-\&~`, c) >= 0 {
		return `\` + string(rune(c))
	}
	return string([]byte{c})
}

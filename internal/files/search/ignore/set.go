package ignore

import "strings"

// set is a set of bytes: what stands in brackets.
type set [4]uint64

func (s *set) has(c byte) bool { return s[c>>6]&(1<<(c&63)) != 0 }

func (s *set) add(c byte) { s[c>>6] |= 1 << (c & 63) }

// classes are the sets that have names, all of ASCII.
var classes = map[string]func(c byte) bool{
	"alnum":  func(c byte) bool { return isLetter(c) || isDigit(c) },
	"alpha":  isLetter,
	"blank":  func(c byte) bool { return c == ' ' || c == '\t' },
	"cntrl":  func(c byte) bool { return c < ' ' || c == 0x7f },
	"digit":  isDigit,
	"graph":  isGraph,
	"lower":  func(c byte) bool { return 'a' <= c && c <= 'z' },
	"print":  func(c byte) bool { return c == ' ' || isGraph(c) },
	"punct":  func(c byte) bool { return isGraph(c) && !isLetter(c) && !isDigit(c) },
	"space":  func(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' },
	"upper":  func(c byte) bool { return 'A' <= c && c <= 'Z' },
	"xdigit": func(c byte) bool { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' },
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isGraph(c byte) bool  { return ' ' < c && c < 0x7f }

// parseSet reads what stands in brackets, from behind the opening one, and
// returns what follows the closing one. The set is nil if it makes no sense.
func parseSet(text string, i int) (_ *set, next int) {
	s := new(set)
	negated := i < len(text) && (text[i] == '!' || text[i] == '^')
	if negated {
		i++
	}
	before := -1 // what a range can begin with, if anything
	for first := true; ; first = false {
		if i >= len(text) {
			return nil, 0
		}
		switch c := text[i]; {
		case c == ']' && !first:
			if negated {
				s.invert()
			}
			return s, i + 1
		case c == '-' && before >= 0 && i+1 < len(text) && text[i+1] != ']':
			last, after, ok := parseMember(text, i+1)
			if !ok {
				return nil, 0
			}
			for c := before; c <= int(last); c++ {
				s.add(byte(c))
			}
			before, i = -1, after
		case strings.HasPrefix(text[i:], "[:"):
			after, named, ok := s.addClass(text, i)
			if !ok {
				return nil, 0
			}
			before, i = -1, after
			if !named {
				before = '['
			}
		default:
			member, after, ok := parseMember(text, i)
			if !ok {
				return nil, 0
			}
			s.add(member)
			before, i = int(member), after
		}
	}
}

// parseMember reads one byte of a set, which may be behind a backslash.
func parseMember(text string, i int) (member byte, next int, ok bool) {
	if text[i] == '\\' {
		i++
	}
	if i == len(text) {
		return 0, 0, false
	}
	return text[i], i + 1, true
}

// addClass reads a class like [:alpha:]. What only begins like one is a bracket
// that stands for itself.
func (s *set) addClass(text string, i int) (next int, named, ok bool) {
	inner := text[i+len("[:"):]
	end := strings.IndexByte(inner, ']')
	if end < 0 {
		return 0, false, false
	}
	name, named := strings.CutSuffix(inner[:end], ":")
	if !named {
		s.add('[')
		return i + 1, false, true
	}
	class := classes[name]
	if class == nil {
		return 0, false, false
	}
	for c := range 256 {
		if class(byte(c)) {
			s.add(byte(c))
		}
	}
	return i + len("[:") + end + 1, true, true
}

func (s *set) invert() {
	for i := range s {
		s[i] = ^s[i]
	}
}

package yaml

import (
	"strings"

	"github.com/airlock-exec/airlock/internal/limits"
)

// A value in braces may take flowLines lines. To find out where one ends, no more
// than flowTries lines of a text are looked at besides the first of each.
const (
	flowLines = 64
	flowTries = 1024
)

// flow reads a value in braces or brackets, which may go on over lines. It is nil
// if that is not what it is.
func (p *parser) flow(rest string) *Node {
	text := rest
	for taken := 0; taken <= flowLines; taken++ {
		f := &flow{rest: text}
		node, done := f.node()
		if done {
			line, after, _ := strings.Cut(f.rest, "\n")
			if node == nil || !isNothing(line) || after != "" {
				return nil
			}
			p.at += taken
			return node
		}
		if p.at+taken == len(p.lines) || p.tried == flowTries {
			return nil
		}
		p.tried++
		text += "\n" + p.lines[p.at+taken]
	}
	return nil
}

// flow reads what stands in braces. Where its text ends too early, nothing is done.
type flow struct {
	rest  string
	depth int
}

// skip skips blanks and comments.
func (f *flow) skip() {
	for {
		f.rest = strings.TrimLeft(f.rest, " \t\n")
		if !strings.HasPrefix(f.rest, "#") {
			return
		}
		_, f.rest, _ = strings.Cut(f.rest, "\n")
	}
}

// take takes a sign if it is the next one.
func (f *flow) take(sign string) bool {
	rest, found := strings.CutPrefix(f.rest, sign)
	f.rest = rest
	return found
}

// node reads a value. It returns nil if there is none where there must be one, and
// whether the text has not ended before that could be told.
func (f *flow) node() (_ *Node, done bool) {
	f.skip()
	if f.rest == "" {
		return nil, false
	}
	if f.depth++; f.depth > limits.YAMLDepth {
		return nil, true
	}
	defer func() { f.depth-- }()
	switch {
	case f.take("["):
		return f.elements()
	case f.take("{"):
		return f.members()
	}
	return f.scalar()
}

// elements reads those of a sequence.
func (f *flow) elements() (*Node, bool) {
	node := &Node{Kind: Sequence}
	for {
		if f.skip(); f.take("]") {
			return node, true
		}
		element, done := f.node()
		if element == nil {
			return nil, done
		}
		node.Elements = append(node.Elements, element)
		if ended, done := f.separated("]"); !done || !ended {
			return nil, done
		}
	}
}

// separated tells whether a comma follows, which is taken, or the end, which is not.
func (f *flow) separated(end string) (ok, done bool) {
	f.skip()
	if f.rest == "" {
		return false, false
	}
	return f.take(",") || strings.HasPrefix(f.rest, end), true
}

// members reads those of a mapping. One without a value is null.
func (f *flow) members() (*Node, bool) {
	node := &Node{Kind: Mapping, Members: map[string]*Node{}}
	for {
		if f.skip(); f.take("}") {
			return node, true
		}
		if f.rest == "" {
			return nil, false
		}
		name, done := f.scalar()
		if name == nil || node.Members[name.Text] != nil {
			return nil, done
		}
		value := &Node{}
		if f.skip(); f.take(":") {
			if f.skip(); !strings.HasPrefix(f.rest, ",") && !strings.HasPrefix(f.rest, "}") {
				if value, done = f.node(); value == nil {
					return nil, done
				}
			}
		}
		node.Members[name.Text] = value
		if ended, done := f.separated("}"); !done || !ended {
			return nil, done
		}
	}
}

// scalar reads text with quotes or without.
func (f *flow) scalar() (*Node, bool) {
	if quote := f.rest[0]; quote == '"' || quote == '\'' {
		end := closing(f.rest[1:], quote)
		if end < 0 {
			return nil, false
		}
		raw := strings.Join(strings.Fields(f.rest[1:end+1]), " ")
		if !strings.Contains(f.rest[1:end+1], "\n") {
			raw = f.rest[1 : end+1]
		}
		text, err := unquote(raw, quote)
		if err != nil {
			return nil, true
		}
		f.rest = f.rest[end+2:]
		return &Node{Text: text, Quoted: true}, true
	}
	end := f.plainEnd()
	text := cutComment(f.rest[:end])
	f.rest = f.rest[end:]
	if text == "" {
		return nil, true
	}
	return &Node{Text: text}, true
}

// plainEnd returns where text without quotes ends.
func (f *flow) plainEnd() int {
	for i := range len(f.rest) {
		switch f.rest[i] {
		case ',', '[', ']', '{', '}', '\n':
			return i
		case ':':
			if i+1 == len(f.rest) || strings.IndexByte(" \t\n,]}", f.rest[i+1]) >= 0 {
				return i
			}
		}
	}
	return len(f.rest)
}

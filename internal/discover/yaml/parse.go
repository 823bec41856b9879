package yaml

import (
	"errors"
	"fmt"
	"strings"

	"github.com/airlock-exec/airlock/internal/limits"
)

// parser reads a text line by line.
type parser struct {
	lines []string
	at    int // the line that comes next
	depth int
	tried int // lines that may have belonged to a value in braces
}

// Parse reads a text. The error says which line makes no sense. An empty text is
// null.
func Parse(text string) (*Node, error) {
	p := &parser{lines: strings.Split(strings.TrimPrefix(text, "\ufeff"), "\n")}
	for i, line := range p.lines {
		p.lines[i] = strings.TrimSuffix(line, "\r")
	}
	if _, first, _ := p.next(); isMark(first, "---") {
		p.at++
	}
	node, err := p.block(0)
	if err == nil {
		err = p.end()
	}
	if err != nil {
		return nil, fmt.Errorf("line %d: %w", min(p.at+1, len(p.lines)), err)
	}
	return node, nil
}

// isMark tells whether a line begins or ends a document.
func isMark(line, mark string) bool { return strings.TrimRight(line, " \t") == mark }

// end asserts that nothing comes any more.
func (p *parser) end() error {
	_, text, err := p.next()
	switch {
	case err != nil:
		return err
	case text == "" || isMark(text, "..."):
		return nil
	}
	return errors.New("it does not belong to what is above it")
}

var (
	errTab  = errors.New("it is indented with a tab")
	errDeep = fmt.Errorf("it is nested deeper than %d", limits.YAMLDepth)
)

// next skips lines that say nothing, and returns the text of the next one and how
// far it is indented. At the end the text is empty.
func (p *parser) next() (indent int, text string, err error) {
	for ; p.at < len(p.lines); p.at++ {
		indent, text = cutIndent(p.lines[p.at])
		if strings.HasPrefix(text, "\t") && strings.TrimSpace(text) != "" {
			return 0, "", errTab
		}
		if text = strings.TrimSpace(text); text != "" && text[0] != '#' {
			return indent, text, nil
		}
	}
	return -1, "", nil
}

func cutIndent(line string) (indent int, text string) {
	text = strings.TrimLeft(line, " ")
	return len(line) - len(text), text
}

// block reads a value that begins on the next line, if that is indented as far as
// least; otherwise there is none.
func (p *parser) block(least int) (*Node, error) {
	indent, text, err := p.next()
	if err != nil || indent < least {
		return &Node{}, err
	}
	if p.depth++; p.depth > limits.YAMLDepth {
		return nil, errDeep
	}
	defer func() { p.depth-- }()
	if isElement(text) {
		return p.sequence(indent)
	}
	if _, _, isMember, err := cutKey(text); err != nil {
		return nil, err
	} else if isMember {
		return p.mapping(indent)
	}
	p.at++
	return p.value(text, least-1)
}

// mapping reads members that are indented alike.
func (p *parser) mapping(indent int) (*Node, error) {
	node := &Node{Kind: Mapping, Members: map[string]*Node{}}
	for {
		at, text, err := p.next()
		if err != nil || at < indent {
			return node, err
		}
		name, rest, isMember, err := cutKey(text)
		switch {
		case err != nil:
			return nil, err
		case at == 0 && (isMark(text, "...") || isMark(text, "---")):
			return node, nil
		case at > indent || isElement(text) || !isMember:
			return nil, errors.New("it is no member of what is above it")
		case node.Members[name] != nil:
			return nil, fmt.Errorf("there are two members %q", name)
		}
		p.at++
		if node.Members[name], err = p.member(rest, indent); err != nil {
			return nil, err
		}
	}
}

// member reads the value of a member whose line goes on with rest.
func (p *parser) member(rest string, indent int) (*Node, error) {
	if !isNothing(rest) {
		return p.value(rest, indent)
	}
	if at, text, err := p.next(); err == nil && at == indent && isElement(text) {
		return p.nested(func() (*Node, error) { return p.sequence(indent) })
	}
	return p.block(indent + 1)
}

// nested reads what is one level deeper.
func (p *parser) nested(read func() (*Node, error)) (*Node, error) {
	if p.depth++; p.depth > limits.YAMLDepth {
		return nil, errDeep
	}
	defer func() { p.depth-- }()
	return read()
}

// sequence reads elements that are indented alike.
func (p *parser) sequence(indent int) (*Node, error) {
	node := &Node{Kind: Sequence}
	for {
		at, text, err := p.next()
		if err != nil || at < indent || at == indent && !isElement(text) {
			return node, err
		}
		if at > indent {
			return nil, errors.New("it is no element of what is above it")
		}
		element, err := p.element(text, indent)
		if err != nil {
			return nil, err
		}
		node.Elements = append(node.Elements, element)
	}
}

// element reads an element that begins on the next line, with a dash.
func (p *parser) element(text string, indent int) (*Node, error) {
	rest := strings.TrimLeft(text[1:], " \t")
	if isNothing(rest) {
		p.at++
		return p.block(indent + 1)
	}
	_, _, isMember, err := cutKey(rest)
	if err != nil {
		return nil, err
	}
	if isMember || isElement(rest) {
		// What follows the dash begins a block, as if it stood alone on the line.
		inner := indent + len(text) - len(rest)
		p.lines[p.at] = strings.Repeat(" ", inner) + rest
		return p.block(inner)
	}
	p.at++
	return p.value(rest, indent)
}

// isElement tells whether a line begins an element of a sequence.
func isElement(text string) bool {
	return text == "-" || strings.HasPrefix(text, "- ") || strings.HasPrefix(text, "-\t")
}

// isNothing tells whether nothing but a comment is left of a line.
func isNothing(rest string) bool {
	rest = strings.TrimSpace(rest)
	return rest == "" || rest[0] == '#'
}

// cutKey splits a line at the colon behind a name, if that is what it begins with.
func cutKey(text string) (name, rest string, found bool, err error) {
	switch text[0] {
	case '[', '{', '#':
		return "", "", false, nil
	case '"', '\'':
		end := closing(text[1:], text[0])
		if end < 0 {
			return "", "", false, nil
		}
		rest, found = strings.CutPrefix(strings.TrimLeft(text[end+2:], " \t"), ":")
		if !found || rest != "" && rest[0] != ' ' && rest[0] != '\t' {
			return "", "", false, nil
		}
		name, err = unquote(text[1:end+1], text[0])
		return name, strings.TrimSpace(rest), true, err
	}
	for i := range len(text) {
		if text[i] == ':' && (i+1 == len(text) || text[i+1] == ' ' || text[i+1] == '\t') {
			return strings.TrimSpace(text[:i]), strings.TrimSpace(text[i+1:]), true, nil
		}
	}
	return "", "", false, nil
}

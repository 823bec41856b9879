package ignore

import "strings"

// glob is a pattern of git's: of bytes, not characters.
type glob struct {
	form   form
	text   string  // of a plain one, or what comes behind the star
	tokens []token // of any other
}

// form tells what a glob looks like. Most are of the first two.
type form int

const (
	plain  form = iota // nothing in it is special
	suffix             // a star, then nothing special, and no slash
	other
)

type token struct {
	kind tokenKind
	char byte // of a literal
	set  *set
}

type tokenKind int

const (
	literal  tokenKind = iota
	one                // any byte but a slash
	oneOf              // a byte of the set
	star               // any bytes but slashes
	dirs               // any directories, each with its slash
	anything           // all the rest
)

// parseGlob reads a pattern. It reports false for one that can match nothing.
func parseGlob(text string) (glob, bool) {
	switch {
	case !strings.ContainsAny(text, special):
		return glob{form: plain, text: text}, true
	case text[0] == '*' && !strings.ContainsAny(text[1:], special+"/"):
		return glob{form: suffix, text: text[1:]}, true
	}
	g := glob{form: other}
	for i := 0; i < len(text); {
		t := token{kind: literal, char: text[i]}
		next := i + 1
		switch text[i] {
		case '\\':
			if next == len(text) {
				return glob{}, false
			}
			t.char = text[next]
			next++
		case '?':
			t.kind = one
		case '*':
			t.kind, next = parseStars(text, i)
		case '[':
			if t.set, next = parseSet(text, next); t.set == nil {
				return glob{}, false
			}
			t.kind = oneOf
		}
		g.tokens = append(g.tokens, t)
		i = next
	}
	return g, true
}

// special are the bytes that can mean something else than themselves.
const special = `*?[\`

// parseStars reads one star or more. Two stand for directories where they are
// all that is between slashes, and, other than git's manual has it, where they
// are the first that is special: git compares what is before apart.
func parseStars(text string, i int) (kind tokenKind, next int) {
	next = i
	for next < len(text) && text[next] == '*' {
		next++
	}
	if next-i < 2 || i > 0 && text[i-1] != '/' && strings.ContainsAny(text[:i], special) {
		return star, next
	}
	rest := text[next:]
	switch {
	case rest == "":
		return anything, next
	case strings.HasPrefix(rest, "/"):
		return dirs, next + len("/")
	case strings.HasPrefix(rest, `\/`):
		return dirs, next + len(`\/`)
	}
	return star, next
}

// matcher is where a glob and a text are compared, and where to go back to.
type matcher struct {
	tokens   []token
	text     string
	t, s     int
	star     int // the last star, or -1
	starText int // how far it reaches
	dirs     int // the last token of directories, or -1
	dirsText int
}

func (g *glob) match(text string) bool {
	switch g.form {
	case plain:
		return text == g.text
	case suffix:
		before, found := strings.CutSuffix(text, g.text)
		return found && !strings.Contains(before, "/")
	case other:
	}
	m := matcher{tokens: g.tokens, text: text, star: -1, dirs: -1}
	return m.run()
}

// run tries to match. Whatever it goes back to is the last of its kind: an
// earlier star need not reach further when one behind it has been met, as the
// later one can take as much. So it takes no more steps than the lengths of
// both multiplied.
func (m *matcher) run() bool {
	for {
		switch {
		case m.t < len(m.tokens) && m.tokens[m.t].kind == anything:
			return true
		case m.t == len(m.tokens) && m.s == len(m.text):
			return true
		case m.t < len(m.tokens) && m.step():
		case !m.back():
			return false
		}
	}
}

// step gets over one token, if that matches.
func (m *matcher) step() bool {
	t := &m.tokens[m.t]
	switch t.kind {
	case star:
		m.star, m.starText = m.t, m.s
		m.t++
		return true
	case dirs:
		m.star, m.dirs, m.dirsText = -1, m.t, m.s
		m.t++
		return true
	case literal, one, oneOf, anything:
	}
	if m.s == len(m.text) || !t.takes(m.text[m.s]) {
		return false
	}
	m.t++
	m.s++
	return true
}

func (t *token) takes(c byte) bool {
	switch t.kind {
	case literal:
		return c == t.char
	case one:
		return c != '/'
	default:
		return t.set.has(c) && c != '/'
	}
}

// back has the last star reach one byte further or else the last directories
// one further, and reports false if none can.
func (m *matcher) back() bool {
	if m.star >= 0 && m.starText < len(m.text) && m.text[m.starText] != '/' {
		m.starText++
		m.t, m.s = m.star+1, m.starText
		return true
	}
	m.star = -1
	if m.dirs < 0 {
		return false
	}
	length := strings.IndexByte(m.text[m.dirsText:], '/')
	if length < 0 {
		return false
	}
	m.dirsText += length + 1
	m.t, m.s = m.dirs+1, m.dirsText
	return true
}

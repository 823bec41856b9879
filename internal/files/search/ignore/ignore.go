// Package ignore judges paths by files like .gitignore: what they say is left out.
// Their syntax and meaning are git's, see gitignore(5).
package ignore

import (
	"bytes"
	"strings"
)

// Rules are what the files in one directory say. The last rule that matches
// decides.
type Rules struct {
	rules []rule
}

type rule struct {
	glob      glob
	wholePath bool // matched with the path below the directory, else with the name
	dirOnly   bool
	negated   bool
}

// Parse reads files that lie in the same directory, the weakest first. There are
// no errors: lines that make no sense match nothing, as in git.
func Parse(files ...[]byte) *Rules {
	r := new(Rules)
	for _, data := range files {
		data = bytes.TrimPrefix(data, []byte("\ufeff"))
		for line := range bytes.SplitSeq(data, []byte("\n")) {
			line, _ = bytes.CutSuffix(line, []byte("\r"))
			if parsed, ok := parseRule(string(line)); ok {
				r.rules = append(r.rules, parsed)
			}
		}
	}
	return r
}

func parseRule(line string) (rule, bool) {
	if strings.HasPrefix(line, "#") {
		return rule{}, false
	}
	var r rule
	line = trimSpaces(line)
	line, r.negated = strings.CutPrefix(line, "!")
	line, r.dirOnly = strings.CutSuffix(line, "/")
	r.wholePath = strings.Contains(line, "/")
	var ok bool
	r.glob, ok = parseGlob(strings.TrimPrefix(line, "/"))
	return r, ok && line != ""
}

// trimSpaces removes spaces at the end, but none behind a backslash.
func trimSpaces(line string) string {
	end := 0
	for i := 0; i < len(line); i++ {
		if line[i] == ' ' {
			continue
		}
		if line[i] == '\\' && i+1 < len(line) {
			i++
		}
		end = i + 1
	}
	return line[:end]
}

// verdict is what rules say of a path.
type verdict int

const (
	silent verdict = iota
	ignored
	wanted
)

func (r *Rules) judge(rel, name string, dir bool) verdict {
	for i := len(r.rules) - 1; i >= 0; i-- {
		rule := &r.rules[i]
		if rule.dirOnly && !dir {
			continue
		}
		subject := name
		if rule.wholePath {
			subject = rel
		}
		switch {
		case !rule.glob.match(subject):
		case rule.negated:
			return wanted
		default:
			return ignored
		}
	}
	return silent
}

// Chain is the rules of a directory and of those above it. The zero value, and
// nil, are those of a directory that has none. It does not change.
type Chain struct {
	above *Chain
	base  int // length of the path of the directory, with a slash at its end
	rules *Rules
}

// Below returns the chain for a directory below that has rules of its own. Its
// path is below the top, where all paths of the chain begin, and "" for the top.
func (c *Chain) Below(dir string, rules *Rules) *Chain {
	if len(rules.rules) == 0 {
		return c
	}
	base := 0
	if dir != "" {
		base = len(dir) + 1
	}
	return &Chain{above: c, base: base, rules: rules}
}

// Ignored tells whether a file or directory is to be left out. Its path is below
// the top, and in the directory of the chain or further down; the directories
// above it are not left out.
func (c *Chain) Ignored(path string, dir bool) bool {
	name := path[strings.LastIndexByte(path, '/')+1:]
	for ; c != nil && c.rules != nil; c = c.above {
		switch c.rules.judge(path[c.base:], name, dir) {
		case ignored:
			return true
		case wanted:
			return false
		case silent:
		}
	}
	return false
}

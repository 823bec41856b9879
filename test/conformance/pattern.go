package conformance

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// mismatch is one place where something else came than was expected.
type mismatch struct {
	path     string // of the place, such as .error.message; "" is the whole
	expected string
	came     string
}

func (m mismatch) String() string {
	place := m.path
	if place == "" {
		place = "the whole"
	}
	return fmt.Sprintf("%s: expected %s, came %s", place, m.expected, m.came)
}

// matching compares a tree with a pattern. What the pattern captures is set in
// vars, also when another part does not match.
type matching struct {
	vars       variables
	mismatches []mismatch
}

// match returns where a tree differs from a pattern.
func match(pattern, tree any, vars variables) []mismatch {
	m := &matching{vars: vars}
	m.value("", pattern, tree)
	return m.mismatches
}

func (m *matching) differ(path, expected, came string) {
	m.mismatches = append(m.mismatches, mismatch{path, expected, came})
}

// holds reports whether a pattern holds, without saying where it does not.
func (m *matching) holds(pattern, tree any) bool {
	return len(match(pattern, tree, m.vars)) == 0
}

func (m *matching) value(path string, pattern, tree any) {
	switch p := pattern.(type) {
	case map[string]any:
		if isMatcher(p) {
			m.matchers(path, p, tree)
			return
		}
		m.object(path, p, tree, false)
	case []any:
		list, ok := tree.([]any)
		if !ok || len(list) != len(p) {
			m.differ(path, fmt.Sprintf("%d elements: %s", len(p), show(p)), show(tree))
			return
		}
		for i := range p {
			m.value(fmt.Sprintf("%s[%d]", path, i), p[i], list[i])
		}
	default:
		want, err := expand(p, m.vars)
		if err != nil {
			m.differ(path, err.Error(), show(tree))
			return
		}
		m.equal(path, want, tree)
	}
}

// equal compares with a value that holds no matchers.
func (m *matching) equal(path string, want, tree any) {
	if encode(want) != encode(tree) {
		m.differ(path, show(want), show(tree))
	}
}

// object compares members. Those that the pattern does not name are mismatches,
// unless it is open.
func (m *matching) object(path string, p map[string]any, tree any, open bool) {
	object, ok := tree.(map[string]any)
	if !ok {
		m.differ(path, "an object", show(tree))
		return
	}
	for _, name := range slices.Sorted(maps.Keys(p)) {
		member, present := object[name]
		matcher, argument, isSpecial := special(p[name])
		optional := isSpecial && matcher == "$optional"
		switch {
		case !present && !optional:
			m.differ(path+"."+name, "it to be there", "no such member")
		case present && optional:
			m.value(path+"."+name, argument, member)
		case present:
			m.value(path+"."+name, p[name], member)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if _, known := p[name]; !known && !open {
			m.differ(path+"."+name, "no such member", show(object[name]))
		}
	}
}

// isMatcher reports whether an object of a pattern is not to be taken literally.
func isMatcher(p map[string]any) bool {
	for name := range p {
		if strings.HasPrefix(name, "$") {
			return true
		}
	}
	return false
}

// matchers compares with an object of matchers, all of which must hold.
func (m *matching) matchers(path string, p map[string]any, tree any) {
	for _, name := range slices.Sorted(maps.Keys(p)) {
		if slices.Contains(generators, name) && name != "$base64" {
			want, err := generate(name, p[name], m.vars)
			if err != nil {
				m.differ(path, err.Error(), show(tree))
				continue
			}
			m.equal(path, want, tree)
			continue
		}
		m.matcher(path, name, p[name], tree)
	}
}

func (m *matching) matcher(path, name string, argument, tree any) {
	switch name {
	case "$any":
	case "$optional":
		m.value(path, argument, tree)
	case "$type":
		if kind(tree) != argument {
			m.differ(path, fmt.Sprintf("something of type %s", argument), show(tree))
		}
	case "$match":
		text, ok := tree.(string)
		if !ok || !expression(argument.(string)).MatchString(text) {
			m.differ(path, fmt.Sprintf("text that matches %s", argument), show(tree))
		}
	case "$capture":
		m.vars[argument.(string)] = tree
	case "$open":
		m.object(path, argument.(map[string]any), tree, true)
	case "$base64":
		m.base64(path, argument, tree)
	case "$between":
		m.between(path, argument.([]any), tree)
	case "$size":
		m.value(path+" size", argument, size(tree))
	case "$not":
		if m.holds(argument, tree) {
			m.differ(path, "anything but "+show(argument), show(tree))
		}
	case "$oneOf":
		if !slices.ContainsFunc(argument.([]any), func(p any) bool { return m.holds(p, tree) }) {
			m.differ(path, "one of "+show(argument), show(tree))
		}
	case "$each", "$has":
		m.elements(path, name, argument, tree)
	case "$lines":
		m.lines(path, argument, tree)
	case "$output":
		m.output(path, argument, tree)
	default:
		m.differ(path, "a matcher that there is", name)
	}
}

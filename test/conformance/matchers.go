package conformance

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

func (m *matching) base64(path string, argument, tree any) {
	text, _ := tree.(string)
	raw, err := base64.StdEncoding.Strict().DecodeString(text)
	if _, isText := tree.(string); !isText || err != nil {
		m.differ(path, "padded base64", show(tree))
		return
	}
	m.value(path+" decoded", argument, string(raw))
}

func (m *matching) between(path string, bounds []any, tree any) {
	n, ok := integer(tree)
	low, _ := integer(bounds[0])
	high, _ := integer(bounds[1])
	if !ok || n < low || n > high {
		m.differ(path, fmt.Sprintf("an integer from %d to %d", low, high), show(tree))
	}
}

// elements compares the elements of an array, each or at least one.
func (m *matching) elements(path, name string, argument, tree any) {
	list, ok := tree.([]any)
	switch {
	case !ok:
		m.differ(path, "an array", show(tree))
	case name == "$each":
		for i, element := range list {
			m.value(fmt.Sprintf("%s[%d]", path, i), argument, element)
		}
	case !slices.ContainsFunc(list, func(e any) bool { return m.holds(argument, e) }):
		m.differ(path, "an element "+show(argument), show(tree))
	}
}

// lines compares the lines of a text with a list, in any order.
func (m *matching) lines(path string, argument, tree any) {
	text, ok := tree.(string)
	want, err := expand(argument, m.vars)
	if !ok || err != nil || text != "" && !strings.HasSuffix(text, "\n") {
		m.differ(path, "whole lines "+show(argument), show(tree))
		return
	}
	var expected, came []string
	for _, line := range want.([]any) {
		line, _ := line.(string)
		expected = append(expected, line)
	}
	for line := range strings.Lines(text) {
		came = append(came, strings.TrimSuffix(line, "\n"))
	}
	slices.Sort(expected)
	slices.Sort(came)
	if !slices.Equal(expected, came) {
		m.differ(path, fmt.Sprintf("the lines %q", expected), fmt.Sprintf("%q", came))
	}
}

// integer returns the value of a number without a fraction.
func integer(tree any) (int64, bool) {
	text, ok := tree.(number)
	n, err := strconv.ParseInt(string(text), 10, 64)
	return n, ok && err == nil
}

// size returns how many bytes or elements there are.
func size(tree any) any {
	switch v := tree.(type) {
	case string:
		return number(strconv.Itoa(len(v)))
	case []any:
		return number(strconv.Itoa(len(v)))
	default:
		return nil
	}
}

// expressions are compiled once, when they are first needed.
var expressions sync.Map

// expression returns a regular expression for the whole of a text.
func expression(text string) *regexp.Regexp {
	if found, ok := expressions.Load(text); ok {
		return found.(*regexp.Regexp)
	}
	compiled := regexp.MustCompile(`^(?s:` + text + `)$`) // it has been checked
	expressions.Store(text, compiled)
	return compiled
}

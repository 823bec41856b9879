package glob

import (
	"slices"
	"strings"
)

// spell returns the globs without braces that a glob stands for: what matches
// braces has to try all of their combinations, for each path anew.
func spell(glob string, most int) ([]string, error) {
	done, open := []string{}, []string{glob}
	for len(open) > 0 {
		glob := open[len(open)-1]
		open = open[:len(open)-1]
		before, alternatives, behind, err := cutBraces(glob)
		switch {
		case err != nil:
			return nil, err
		case alternatives == nil:
			done = append(done, glob)
		}
		for _, a := range slices.Backward(alternatives) {
			open = append(open, before+a+behind)
		}
		if len(done)+len(open) > most {
			return nil, errMany
		}
	}
	return done, nil
}

// cutBraces splits a glob around its first braces. Without any, there are no
// alternatives.
func cutBraces(glob string) (before string, alternatives []string, behind string, err error) {
	depth, from, class := 0, 0, false
	for i := 0; i < len(glob); i++ {
		c := glob[i]
		switch {
		case c == '\\':
			if i++; i < len(glob) && glob[i] == '/' {
				return "", nil, "", errSlash
			}
		case class && c == '/':
			return "", nil, "", errSlash
		case class:
			class = c != ']'
		case c == '[':
			class = true
			if strings.HasPrefix(glob[i+1:], "^") || strings.HasPrefix(glob[i+1:], "!") {
				i++
			}
		case c == '{':
			if depth++; depth == 1 {
				before, from = glob[:i], i+1
			}
		case depth == 1 && (c == ',' || c == '}'):
			alternatives = append(alternatives, glob[from:i])
			if from = i + 1; c == '}' {
				return before, alternatives, glob[from:], nil
			}
		case depth > 1 && c == '}':
			depth--
		}
	}
	if depth > 0 {
		return "", nil, "", errSyntax
	}
	return glob, nil, "", nil
}

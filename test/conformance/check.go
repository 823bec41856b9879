package conformance

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
)

// use puts what a file defines in the place of {"$use": NAME}.
func use(tree any, define map[string]any) (any, error) {
	switch v := tree.(type) {
	case []any:
		for i := range v {
			var err error
			if v[i], err = use(v[i], define); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		if name, argument, ok := special(v); ok && name == "$use" {
			text, _ := argument.(string)
			meant, ok := define[text]
			if !ok {
				return nil, fmt.Errorf("$use: the file does not define %s", show(argument))
			}
			return meant, nil
		}
		for name := range v {
			var err error
			if v[name], err = use(v[name], define); err != nil {
				return nil, err
			}
		}
	}
	return tree, nil
}

// checkValue looks for variables that nothing captures, and for generators that
// there are not, in a tree to be sent.
func checkValue(tree any, known map[string]bool) error {
	switch v := tree.(type) {
	case string:
		for _, m := range reference().FindAllStringSubmatch(v, -1) {
			if !known[m[1]] {
				return fmt.Errorf("${%s} has not been captured by then", m[1])
			}
		}
	case []any:
		for _, element := range v {
			if err := checkValue(element, known); err != nil {
				return err
			}
		}
	case map[string]any:
		if isMatcher(v) {
			name, _, ok := special(v)
			if !ok || !slices.Contains(generators, name) {
				return fmt.Errorf("%s can't be sent: names with a dollar are generators, and stand alone", show(v))
			}
			if name == "$sandbox" {
				if err := checkSandbox(v[name]); err != nil {
					return err
				}
			}
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if err := checkValue(v[name], known); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkPattern looks for faults in a pattern, and notes what it captures.
func checkPattern(tree any, known map[string]bool) error {
	switch v := tree.(type) {
	case []any:
		for _, element := range v {
			if err := checkPattern(element, known); err != nil {
				return err
			}
		}
		return nil
	case map[string]any:
		dollars := isMatcher(v)
		for _, name := range slices.Sorted(maps.Keys(v)) {
			var err error
			if dollars {
				err = checkMatcher(name, v[name], known)
			} else {
				err = checkPattern(v[name], known)
			}
			if err != nil {
				return err
			}
		}
		return nil
	default:
		return checkValue(tree, known)
	}
}

// types are what a $type can ask for.
var types = []string{"null", "boolean", "string", "integer", "fraction", "array", "object"}

// checkMatcher looks for faults in one matcher.
func checkMatcher(name string, argument any, known map[string]bool) error {
	text, isString := argument.(string)
	_, isList := argument.([]any)
	object, isObject := argument.(map[string]any)
	ok := true
	switch name {
	case "$any":
		ok = argument == true
	case "$type":
		ok = isString && slices.Contains(types, text)
	case "$match":
		if _, err := regexp.Compile(text); !isString || err != nil {
			return fmt.Errorf("$match: %s is no regular expression", show(argument))
		}
	case "$capture":
		return checkForm(isName, argument, known)
	case "$between":
		return checkInterval(argument)
	case "$open", "$output":
		if ok = isObject && !isMatcher(object); ok {
			return checkPattern(argument, known)
		}
	case "$oneOf":
		if ok = isList; ok {
			return checkPattern(argument, known)
		}
	case "$lines":
		if ok = isList; ok {
			return checkValue(argument, known)
		}
	case "$optional", "$base64", "$size", "$not", "$each", "$has":
		return checkPattern(argument, known)
	case "$repeat", "$concat", "$hex", "$json", "$upper":
		return checkValue(argument, known)
	default:
		return fmt.Errorf("there is no matcher %s", name)
	}
	if !ok {
		return fmt.Errorf("%s can't have the argument %s", name, show(argument))
	}
	return nil
}

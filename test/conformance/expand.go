package conformance

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// variables are what a case has captured, by name.
type variables map[string]any

// reference is a variable in a string.
var reference = lazily(`\$\{([A-Za-z][A-Za-z0-9]*)\}`)

// lazily returns a regular expression that is compiled when it is first needed, not
// at every start of the program.
func lazily(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

// generators make values that would be long or awkward to write down. A tree to
// send may hold them anywhere; a pattern, where a string may stand.
var generators = []string{"$base64", "$repeat", "$concat", "$hex", "$json", "$upper", "$sandbox"}

// maxGenerated bounds what a generator makes, so that a slip in a case does not
// take all memory.
const maxGenerated = 80 << 20

// special returns the one name of an object whose name begins with a dollar.
func special(tree any) (name string, argument any, ok bool) {
	object, isObject := tree.(map[string]any)
	if !isObject || len(object) != 1 {
		return "", nil, false
	}
	for name, argument := range object {
		return name, argument, strings.HasPrefix(name, "$")
	}
	return "", nil, false
}

// expand puts variables in and runs generators.
func expand(tree any, vars variables) (any, error) {
	switch v := tree.(type) {
	case string:
		return expandString(v, vars)
	case []any:
		list := make([]any, len(v))
		for i, element := range v {
			var err error
			if list[i], err = expand(element, vars); err != nil {
				return nil, err
			}
		}
		return list, nil
	case map[string]any:
		if name, argument, ok := special(v); ok {
			return generate(name, argument, vars)
		}
		object := make(map[string]any, len(v))
		for name, member := range v {
			var err error
			if object[name], err = expand(member, vars); err != nil {
				return nil, err
			}
		}
		return object, nil
	default:
		return tree, nil
	}
}

// expandString puts variables into a string. A string that is nothing but a
// variable becomes its value, of whatever kind.
func expandString(text string, vars variables) (any, error) {
	if m := reference().FindStringSubmatch(text); m != nil && m[0] == text {
		value, ok := vars[m[1]]
		if !ok {
			return nil, fmt.Errorf("nothing has been captured as %s", m[1])
		}
		return value, nil
	}
	var missing string
	out := reference().ReplaceAllStringFunc(text, func(ref string) string {
		name := ref[2 : len(ref)-1]
		switch v := vars[name].(type) {
		case string:
			return v
		case number:
			return string(v)
		default:
			missing = name
			return ""
		}
	})
	if missing != "" {
		return nil, fmt.Errorf("%s is no text or number that has been captured", missing)
	}
	return out, nil
}

// generate runs one generator.
func generate(name string, argument any, vars variables) (any, error) {
	expanded, err := expand(argument, vars)
	if err != nil {
		return nil, err
	}
	switch name {
	case "$json":
		return encode(expanded), nil
	case "$sandbox":
		return generateSandbox(expanded, vars)
	case "$base64":
		if text, ok := expanded.(string); ok {
			return base64.StdEncoding.EncodeToString([]byte(text)), nil
		}
	case "$upper":
		if text, ok := expanded.(string); ok {
			return strings.ToUpper(text), nil
		}
	case "$hex":
		if text, ok := expanded.(string); ok {
			raw, err := hex.DecodeString(text)
			return string(raw), err
		}
	case "$concat":
		if list, ok := expanded.([]any); ok {
			return concat(list)
		}
	case "$repeat":
		if list, ok := expanded.([]any); ok && len(list) == 2 {
			return repeat(list[0], list[1])
		}
	}
	return nil, fmt.Errorf("%s can't be made of %s", name, show(argument))
}

func concat(list []any) (any, error) {
	var out strings.Builder
	for _, part := range list {
		text, ok := part.(string)
		if !ok || out.Len()+len(text) > maxGenerated {
			return nil, fmt.Errorf("$concat can't be made of %s", show(list))
		}
		out.WriteString(text)
	}
	return out.String(), nil
}

// repeat repeats a string, or makes a list of equal elements of anything else.
func repeat(what, times any) (any, error) {
	text, _ := times.(number)
	n, err := strconv.Atoi(string(text))
	if err != nil || n < 0 {
		return nil, fmt.Errorf("$repeat needs how often, not %s", show(times))
	}
	if s, ok := what.(string); ok {
		if len(s)*n > maxGenerated {
			return nil, fmt.Errorf("$repeat would make %d bytes", len(s)*n)
		}
		return strings.Repeat(s, n), nil
	}
	if n > maxGenerated/64 {
		return nil, fmt.Errorf("$repeat would make %d elements", n)
	}
	return slices.Repeat([]any{what}, n), nil
}

package conformance

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// JSON is held as trees: nil, bool, string, number, []any and map[string]any.

// number is a JSON number as it was written: 1 and 1.0 are two things to a
// client that asks for an integer.
type number string

// decode reads exactly one JSON text. Duplicate names and invalid UTF-8 are
// errors.
func decode(text []byte) (any, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(text))
	tree, err := decodeNext(dec)
	if err != nil {
		return nil, err
	}
	if _, err := dec.ReadToken(); err == nil {
		return nil, errors.New("something follows the JSON text")
	} else if !errors.Is(err, io.EOF) {
		return nil, err
	}
	return tree, nil
}

func decodeNext(dec *jsontext.Decoder) (any, error) {
	token, err := dec.ReadToken()
	if err != nil {
		return nil, err
	}
	switch token.Kind() {
	case 'n':
		return nil, nil
	case 't', 'f':
		return token.Bool(), nil
	case '"':
		return token.String(), nil
	case '0':
		return number(token.String()), nil
	case '[':
		list := []any{}
		for dec.PeekKind() != ']' {
			element, err := decodeNext(dec)
			if err != nil {
				return nil, err
			}
			list = append(list, element)
		}
		_, err := dec.ReadToken()
		return list, err
	case '{':
		object := map[string]any{}
		for dec.PeekKind() != '}' {
			name, err := dec.ReadToken()
			if err != nil {
				return nil, err
			}
			key := name.String()
			if object[key], err = decodeNext(dec); err != nil {
				return nil, err
			}
		}
		_, err := dec.ReadToken()
		return object, err
	default:
		return nil, fmt.Errorf("unexpected %v", token.Kind())
	}
}

// encode writes a tree as JSON, names in order.
func encode(tree any) string { return string(appendJSON(nil, tree)) }

func appendJSON(b []byte, tree any) []byte {
	switch v := tree.(type) {
	case nil:
		return append(b, "null"...)
	case bool:
		return strconv.AppendBool(b, v)
	case number:
		return append(b, v...)
	case string:
		quoted, err := jsontext.AppendQuote(b, v)
		if err != nil { // not UTF-8; it has been replaced
			quoted, _ = jsontext.AppendQuote(b, strings.ToValidUTF8(v, "\uFFFD"))
		}
		return quoted
	case []any:
		b = append(b, '[')
		for i, element := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendJSON(b, element)
		}
		return append(b, ']')
	case map[string]any:
		b = append(b, '{')
		for i, name := range slices.Sorted(maps.Keys(v)) {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendJSON(b, name)
			b = append(b, ':')
			b = appendJSON(b, v[name])
		}
		return append(b, '}')
	default:
		panic(fmt.Sprintf("no JSON tree holds a %T", tree))
	}
}

// maxShown is how much of a value stands in a report.
const maxShown = 600

// show writes a tree for a reader.
func show(tree any) string { return shorten(encode(tree)) }

func shorten(text string) string {
	if len(text) <= maxShown {
		return text
	}
	return fmt.Sprintf("%s … (%d bytes)", strings.ToValidUTF8(text[:maxShown], ""), len(text))
}

// kind names what a tree is.
func kind(tree any) string {
	switch v := tree.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case number:
		if strings.ContainsAny(string(v), ".eE") {
			return "fraction"
		}
		return "integer"
	case []any:
		return "array"
	default:
		return "object"
	}
}

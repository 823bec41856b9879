package discover

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// tomlText writes tables as TOML, names in their order, until it has more than
// limit bytes: files repeat no names, but tables in tables do.
type tomlText struct {
	text  []byte
	limit int
}

// encodeTOML returns a table as TOML, of at most limit bytes.
func encodeTOML(t table, limit int) (string, error) {
	w := &tomlText{limit: limit}
	if !w.table("", t) {
		return "", fmt.Errorf("what is asked for takes more than %d bytes", limit)
	}
	return string(w.text), nil
}

// table writes a table: first what is no table, then the others below their
// headings. It returns false at the limit.
func (w *tomlText) table(heading string, t table) bool {
	var plain, tables []string
	for _, name := range slices.Sorted(maps.Keys(t)) {
		if _, isTable := t[name].(table); isTable {
			tables = append(tables, name)
		} else {
			plain = append(plain, name)
		}
	}
	if heading != "" && (len(plain) > 0 || len(tables) == 0) {
		w.heading(heading)
	}
	for _, name := range plain {
		w.text = append(append(w.text, tomlKey(name)...), " = "...)
		w.value(t[name])
		w.text = append(w.text, '\n')
		if len(w.text) > w.limit {
			return false
		}
	}
	for _, name := range tables {
		inner := tomlKey(name)
		if heading != "" {
			inner = heading + "." + inner
		}
		if !w.table(inner, t[name].(table)) {
			return false
		}
	}
	return len(w.text) <= w.limit
}

func (w *tomlText) heading(heading string) {
	if len(w.text) > 0 {
		w.text = append(w.text, '\n')
	}
	w.text = append(append(append(w.text, '['), heading...), "]\n"...)
}

// value writes a value on one line. Past the limit it writes nothing.
func (w *tomlText) value(value any) {
	if len(w.text) > w.limit {
		return
	}
	switch value := value.(type) {
	case string:
		w.text = appendTOMLString(w.text, value)
	case int64:
		w.text = strconv.AppendInt(w.text, value, 10)
	case float64:
		w.text = appendTOMLFloat(w.text, value)
	case bool:
		w.text = strconv.AppendBool(w.text, value)
	case time.Time:
		w.text = value.AppendFormat(w.text, time.RFC3339Nano)
	case []any:
		w.text = append(w.text, '[')
		for i, element := range value {
			if i > 0 {
				w.text = append(w.text, ", "...)
			}
			w.value(element)
		}
		w.text = append(w.text, ']')
	case table:
		w.inline(value)
	case fmt.Stringer: // a local date or time
		w.text = append(w.text, value.String()...)
	}
}

// inline writes a table that is an element of an array.
func (w *tomlText) inline(t table) {
	w.text = append(w.text, '{')
	for i, name := range slices.Sorted(maps.Keys(t)) {
		if i > 0 {
			w.text = append(w.text, ", "...)
		}
		w.text = append(append(w.text, tomlKey(name)...), " = "...)
		w.value(t[name])
	}
	w.text = append(w.text, '}')
}

func tomlKey(name string) string {
	bare := func(c rune) bool {
		return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-'
	}
	if name != "" && !strings.ContainsFunc(name, func(c rune) bool { return !bare(c) }) {
		return name
	}
	return string(appendTOMLString(nil, name))
}

func appendTOMLString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', byte(c))
		case c == '\n':
			dst = append(dst, `\n`...)
		case c == '\t':
			dst = append(dst, `\t`...)
		case c < ' ' || c == 0x7f:
			dst = fmt.Appendf(dst, `\u%04X`, c)
		default:
			dst = append(dst, string(c)...)
		}
	}
	return append(dst, '"')
}

func appendTOMLFloat(dst []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, "nan"...)
	case math.IsInf(f, 1):
		return append(dst, "inf"...)
	case math.IsInf(f, -1):
		return append(dst, "-inf"...)
	}
	text := strconv.FormatFloat(f, 'g', -1, 64)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return append(dst, text...)
}

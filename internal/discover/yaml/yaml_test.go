package yaml

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/airlock-exec/airlock/internal/limits"
)

// plain makes what tests compare of a node.
func plain(n *Node) any {
	switch {
	case n.IsNull():
		return nil
	case n.Kind == Mapping:
		members := map[string]any{}
		for name, member := range n.Members {
			members[name] = plain(member)
		}
		return members
	case n.Kind == Sequence:
		elements := []any{}
		for _, element := range n.Elements {
			elements = append(elements, plain(element))
		}
		return elements
	}
	if value, isBool := n.Bool(); isBool {
		return value
	}
	return n.Text
}

type object = map[string]any

func TestParse(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, text string
		want       any
	}{
		{"nothing", "", nil},
		{"comments", "# a\n\n  # b\n", nil},
		{"scalar", "x\n", "x"},
		{"members", "a: b\nc: 3\nd: true\ne: ~\nf:\n", object{"a": "b", "c": "3", "d": true, "e": nil, "f": nil}},
		{"carriage returns", "a: b\r\nc: d\r\n", object{"a": "b", "c": "d"}},
		{"byte order mark, marks of a document", "\ufeff---\na: b\n...\n", object{"a": "b"}},
		{"nested", "a:\n  b:\n      c: d\n  e: f\ng: h\n", object{"a": object{"b": object{"c": "d"}, "e": "f"}, "g": "h"}},
		{"comment behind a value", "a: b # c\nd: e#f\n", object{"a": "b", "d": "e#f"}},
		{"comment in place of a value", "a: # c\n  b: d\n", object{"a": object{"b": "d"}}},
		{"colons in text", "a: b: c: d\nurl: http://x\nx: : :\n", object{"a": "b: c: d", "url": "http://x", "x": ": :"}},
		{
			"any beginning", "a: @b\nc: %d\ne: &f g\nh: *i\nj: !k l\nm: `n`\n",
			object{"a": "@b", "c": "%d", "e": "&f g", "h": "*i", "j": "!k l", "m": "`n`"},
		},
		{"text over lines", "a: b\n  c\n\n  d\ne: f\n", object{"a": "b c d", "e": "f"}},
		{"text below its name", "a:\n  b\n  c\n", object{"a": "b c"}},
		{"double quotes", `a: "b: \"c\"\t\u00e9\x41 # d" # e`, object{"a": "b: \"c\"\té\x41 # d"}},
		{"single quotes", "a: 'it''s # b'\n", object{"a": "it's # b"}},
		{"quotes over lines", "a: \"b\n  c\n\n  d\"\ne: 'f\n\n\n  g'\n", object{"a": "b c d", "e": "f g"}},
		{"quoted names", "\"a b\": c\n'd''e': f\n", object{"a b": "c", "d'e": "f"}},
		{"what is quoted is text", "a: \"\"\nb: 'true'\nc: \"null\"\n", object{"a": "", "b": "true", "c": "null"}},
		{"literal block", "a: |\n  b: c\n   d\n\ne: f\n", object{"a": "b: c d", "e": "f"}},
		{"folded block", "a: >\n  b\n  c\n\n  d\n   e\n  f\n", object{"a": "b c d e f"}},
		{"block without an end", "a: >- # x\n  b\n  c\n\n\nd: e", object{"a": "b c", "d": "e"}},
		{"block with its end", "a: |+\n  b\n\nc: d\n", object{"a": "b", "c": "d"}},
		{"block with a margin", "a: |2\n    b\n  c\nd: e\n", object{"a": "b c", "d": "e"}},
		{"empty block", "a: |\nb: c\n", object{"a": "", "b": "c"}},
		{"no block", "a: |x\nb: > y\n", object{"a": "|x", "b": "> y"}},
		{"elements", "- a\n- 'b'\n-\n- - c\n  - d\n", []any{"a", "b", nil, []any{"c", "d"}}},
		{"elements of a member", "a:\n- b\n- c\nd:\n  - e\n", object{"a": []any{"b", "c"}, "d": []any{"e"}}},
		{
			"elements with members", "a:\n  - b: c\n    d: e\n  -\n    f: g\n  - h:\n      i: j\n",
			object{"a": []any{object{"b": "c", "d": "e"}, object{"f": "g"}, object{"h": object{"i": "j"}}}},
		},
		{
			"braces", "a: {b: c, 'd': [e, \"f, g\"], h}\ni: []\nj: {}\n",
			object{"a": object{"b": "c", "d": []any{"e", "f, g"}, "h": nil}, "i": []any{}, "j": object{}},
		},
		{
			"braces over lines", "a: [\n  b, # c\n  {d: e,\n   f: g},\n]\nh: i\n",
			object{"a": []any{"b", object{"d": "e", "f": "g"}}, "h": "i"},
		},
		{"braces alone", "{a: b, c: d}\n", object{"a": "b", "c": "d"}},
		{"URL in braces", "a: [http://x/y, b]\n", object{"a": []any{"http://x/y", "b"}}},
		{"no braces", "a: [b\nc: [d] e\nf: {g\n", object{"a": "[b", "c": "[d] e", "f": "{g"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			node, err := Parse(test.text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, plain(node)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a: b\n\tc: d\n":         "line 2: it is indented with a tab",
		"a: b\na: c\n":           `line 2: there are two members "a"`,
		"a: b\nc\n":              "line 2: it is no member of what is above it",
		"a:\n  b: c\n d: e\n":    "line 3: it is no member of what is above it",
		"a: b\n- c\n":            "line 2: it is no member of what is above it",
		"- a\nb: c\n":            "line 2: it does not belong to what is above it",
		"- a\n\n  - b\n":         "", // text over lines
		"- - a\n     - b\n":      "", // the same
		"-\n  - a\n    b\n  c\n": "line 4: it is no element of what is above it",
		"a: \"b\" c\n":           "line 2: something follows the closing quote",
		"a: \"b\n\n":             "line 3: the closing quote is missing",
		`a: "\q"`:                `line 1: there is no escape \q`,
		`a: "\u12"`:              `line 1: there is no escape \u`,
		`a: "\ud800"`:            `line 1: there is no escape \u`,
		`"\q": a`:                `line 1: there is no escape \q`,
		"a: b\n---\nc: d\n":      "line 2: it does not belong to what is above it",
		strings.Repeat("- ", limits.YAMLDepth+1) + "a": "line 1: it is nested deeper than 32",
	} {
		_, err := Parse(text)
		if want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}

// TestParseDepth asserts that values are nested as deep as the limit, and no deeper.
func TestParseDepth(t *testing.T) {
	t.Parallel()
	for name, nest := range map[string]func(depth int) string{
		"dashes": func(depth int) string { return strings.Repeat("- ", depth) + "a" },
		"members": func(depth int) string {
			var text strings.Builder
			for i := range depth {
				text.WriteString(strings.Repeat(" ", i) + "a:\n")
			}
			return text.String()
		},
	} {
		if _, err := Parse(nest(limits.YAMLDepth)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := Parse(nest(limits.YAMLDepth + 1)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	deep, err := Parse("a: " + strings.Repeat("[", limits.YAMLDepth) + strings.Repeat("]", limits.YAMLDepth))
	if err != nil || deep.Member("a").Kind != Sequence {
		t.Errorf("%+v, error %v", deep, err)
	}
	deeper, err := Parse("a: " + strings.Repeat("[", limits.YAMLDepth+1) + strings.Repeat("]", limits.YAMLDepth+1))
	if err != nil || deeper.Member("a").Kind != Scalar {
		t.Errorf("%+v, error %v", deeper, err)
	}
}

// TestFlowTries asserts that text that looks like values in braces, and is none, is
// not read to its end for every line.
func TestFlowTries(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"- [\n", "- {a: \n"} {
		p := &parser{lines: strings.Split(strings.Repeat(line, 10*flowTries), "\n")}
		node, err := p.block(0)
		if err != nil || len(node.Elements) != 10*flowTries || p.tried != flowTries {
			t.Errorf("%q: %d lines were tried, error %v", line, p.tried, err)
		}
	}
}

// BenchmarkParse parses texts of the size of the largest file, each of which would
// take long if a part of it were read once for every line.
func BenchmarkParse(b *testing.B) {
	const size = limits.DiscoveryFileBytes
	for name, part := range map[string]string{
		"braces": "- [\n", "quotes": "- \"a\n", "half-open": "- [\"]\n", "members": "- {a: b}\n",
		"dashes": "- - - - - - - - a\n", "blank": "- a\n\n\n\n", "text": "a\n", "line": "- [a ",
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				_, _ = Parse(strings.Repeat(part, size/len(part)))
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"a: b\nc:\n  - d: 'e'\n    f: \"\\u00e9\"\n", "a: [b, {c: d}, \"e\n f\"]\n", "a: |+\n  b\n c\n", "- - - a\n  - b\n",
		"{a: b", "'", "\"\\", "a: >9\n", "\ufeff---\n...\n", "? a\n: b\n",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		node, err := Parse(text)
		if (node == nil) == (err == nil) {
			t.Fatalf("%+v, error %v", node, err)
		}
		if err == nil {
			checkDepth(t, node, 0)
		}
	})
}

// checkDepth asserts that a value is whole, and nested no deeper than allowed.
func checkDepth(t *testing.T, node *Node, depth int) {
	if node == nil || depth > 2*limits.YAMLDepth {
		t.Fatalf("depth %d: %+v", depth, node)
	}
	for _, member := range node.Members {
		checkDepth(t, member, depth+1)
	}
	for _, element := range node.Elements {
		checkDepth(t, element, depth+1)
	}
}

package search

import (
	"bytes"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/airlock-exec/airlock/internal/limits"
)

// String returns texts in order, each byte as itself or as a set in brackets.
func (ts texts) String() string {
	var all []string
	for _, t := range ts {
		var out strings.Builder
		for _, c := range t {
			var set []byte
			for b := range 256 {
				if c.has(byte(b)) {
					set = append(set, byte(b))
				}
			}
			if len(set) == 1 {
				out.Write(set)
			} else {
				fmt.Fprintf(&out, "[%s]", set)
			}
		}
		all = append(all, out.String())
	}
	return strings.Join(all, "|")
}

func TestRequired(t *testing.T) {
	t.Parallel()
	const digit = "[0123456789]"
	for pattern, want := range map[string]string{
		"foo":                      "foo",
		"a+foo?":                   "afoo|afo",
		"(ab)+c":                   "abc",
		"(ab){2,}c":                "abc",
		"(ab){2}c":                 "ababc",
		"(ab){0,2}":                "",
		"a|b":                      "[ab]",
		"ab|c?":                    "",
		"ab|c*":                    "",
		"foobar|foobaz":            "fooba[rz]",
		"foo|bar.*baz":             "foo|bar",
		"(foo|bar)+x":              "foox|barx",
		`func \w+\(`:               "func [0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz]",
		`^\bx\d\d$`:                "x" + digit + digit,
		`\d+\.\d+`:                 digit + "." + digit,
		`https?://`:                "https://|http://",
		`(TODO|FIXME|XXX)\(\w*\):`: "TODO(|FIXME(|XXX(",
		`a.b`:                      "a",
		`[^a]`:                     "",
		`.*`:                       "",
		`\s`:                       "[\t\f\r ]", // without line feed
		"é":                        "é",
		`\x{FFFD}ab`:               "ab", // any byte that is not UTF-8
		"(?i)foo_1":                "[Ff][Oo][Oo]_1",
		"(?i)password":             "[Ww][Oo][Rr][Dd]", // s has a third form
		"(?i)kK":                   "",
		"(?i)été":                  "[Tt]",
		"[a-p]{300}x":              "[abcdefghijklmnop]x",
		"[ab][ab][ab]|c":           "[ab][ab][ab]|c",
		"(a|bb|ccc|dddd){5}x":      "ax|bbx|cccx|ddddx",
	} {
		tree, err := syntax.Parse(pattern, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		if got := required(tree).String(); got != want {
			t.Errorf("%s: %q, not %q", pattern, got, want)
		}
	}
}

// TestHint asserts that no match is missed because of what is looked for before.
func TestHint(t *testing.T) {
	t.Parallel()
	part := rapid.SampledFrom([]string{
		"a", "ab", "K", "s", "ſ", "\u212a", "é", "É", "(a|b)", "a+", "b*", "(ab){1,2}", "x?", `\w`, ".", "|", "(a|bx|)",
		"(a+x|k)+", "[ab]", "[^a]", "(ab|k){3}", `\b`, "^", "$", "(?:(a|b)(x|y)){2,}", "(a|b|x)(a|b|x)(a|b|x)", "\n", `\s`,
	})
	rapid.Check(t, func(t *rapid.T) {
		pattern := strings.Join(rapid.SliceOfN(part, 1, 6).Draw(t, "pattern"), "")
		ignoreCase := rapid.Bool().Draw(t, "ignoreCase")
		m, err := newMatcher(pattern, true, ignoreCase)
		if err != nil {
			t.Fatal(err)
		}
		line := []byte(rapid.StringMatching(`[aAbBkKsSſéÉxé\x{212a} ]{0,12}`).Draw(t, "line"))
		if _, _, ok := m.find(line, false); ok && m.hint != nil {
			if i := m.hint(line); i < 0 || i >= len(line) {
				t.Fatalf("%q matches %q, but the hint is at %d", pattern, line, i)
			}
		}
	})
}

// TestFinder compares with the library.
func TestFinder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.StringMatching(`([ab1_]|\[ab\]|\[1_\]){1,4}`)
		pattern := strings.Join(rapid.SliceOfN(part, 1, 4).Draw(t, "texts"), "|")
		data := []byte(rapid.StringMatching(`[abAB1_é]{0,40}`).Draw(t, "data"))
		tree, err := syntax.Parse(pattern, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		want := -1 // the end of that which ends first
		for end := range data {
			if regexp.MustCompile("(?:" + pattern + ")$").Match(data[:end+1]) {
				want = end
				break
			}
		}
		if got := newFinder(required(tree)).index(data); got != want {
			t.Fatalf("%q in %q: %d, not %d", pattern, data, got, want)
		}
	})
}

// TestLongTexts has more in the texts that are looked for than there are bits.
func TestLongTexts(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("abcdefgh", 15)
	for _, pattern := range []string{"(?i)" + long, long + "|x" + long, "[ab]" + long + ".*" + long} {
		m, err := newMatcher(pattern, true, false)
		if err != nil {
			t.Fatal(err)
		}
		line := []byte("..xa" + long + long)
		if _, _, ok := m.find(line, false); !ok || m.hint(line) < 0 {
			t.Errorf("%.20s: found %v, hint %d", pattern, ok, m.hint(line))
		}
		if line = []byte(strings.ToUpper(long[:20])); m.hint(line) >= 0 {
			t.Errorf("%.20s: the hint is for nothing", pattern)
		}
	}
}

// TestSize asserts that the size that is judged before an expression is compiled
// bounds what comes of it.
func TestSize(t *testing.T) {
	t.Parallel()
	part := rapid.SampledFrom([]string{"a", "abc", "(a|b)", "a+", "b*", "(ab){1,2}", "x?", `\w`, "[^a]", "(a{3}){4}", "(b{2,}){0,3}", "^", "(x|(y|z)){5}"})
	rapid.Check(t, func(t *rapid.T) {
		pattern := strings.Join(rapid.SliceOfN(part, 1, 5).Draw(t, "pattern"), "")
		tree, err := syntax.Parse(pattern, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		prog, err := syntax.Compile(tree.Simplify())
		if err != nil {
			t.Fatal(err)
		}
		tree, _ = syntax.Parse(pattern, syntax.Perl)
		if bound := 2 + 2*size(tree); len(prog.Inst) > bound {
			t.Fatalf("%q has %d steps, more than %d", pattern, len(prog.Inst), bound)
		}
	})
}

// TestLargeExpression asserts that less of a line is searched for more.
func TestLargeExpression(t *testing.T) {
	t.Parallel()
	m, err := newMatcher(`(\w?b){700}`, true, false)
	if err != nil || m.window >= limits.SearchLineBytes || m.window < 10_000 {
		t.Errorf("%d bytes, %v", m.window, err)
	}
	if m, err = newMatcher(`\w+b`, true, true); err != nil || m.window != limits.SearchLineBytes {
		t.Errorf("%d bytes, %v", m.window, err)
	}
}

// TestCut asserts that a match that reaches to where a line has been cut is none:
// it might not be one with what follows.
func TestCut(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		pattern string
		cut, ok bool
	}{
		{"b$", false, true},
		{"b$", true, false},
		{`b\b`, true, false},
		{"ab", true, false},
		{"a", true, true},
	} {
		m, err := newMatcher(test.pattern, true, false)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, ok := m.find([]byte("ab"), test.cut); ok != test.ok {
			t.Errorf("%s, cut %v: %v", test.pattern, test.cut, ok)
		}
	}
}

func TestExcerpt(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.SampledFrom([]string{"a", "é", "€", "😀", "\xff", "\xe2\x82"})
		line := []byte(strings.Repeat(strings.Join(rapid.SliceOfN(part, 1, 5).Draw(t, "parts"), ""), rapid.IntRange(0, 1000).Draw(t, "times")))
		match := rapid.IntRange(0, len(line)).Draw(t, "match")
		text, begin := excerpt(line, match)
		switch {
		case begin < 0 || begin > match:
			t.Fatalf("the match is at %d, the text at %d", match, begin)
		case !utf8.ValidString(text):
			t.Fatalf("not UTF-8: %q", text)
		case len(line) <= limits.SearchTextBytes && (begin != 0 || text != string(bytes.Runes(line))):
			t.Fatalf("%q became %q", line, text)
		case len(line) > limits.SearchTextBytes && (len(text) > 3*limits.SearchTextBytes || len(text) < limits.SearchTextBytes/2):
			t.Fatalf("%d bytes of text", len(text))
		case utf8.Valid(line) && !bytes.HasPrefix(line[begin:], []byte(text)):
			t.Fatal("a character has been cut")
		case match < len(line) && begin+limits.SearchTextBytes <= match:
			t.Fatalf("the match is at %d, the text begins at %d", match, begin)
		}
	})
}

func FuzzExpression(f *testing.F) {
	for _, pattern := range []string{"a", "(a|b)*c", "(?i)ſk", "[[:alpha:]]{3}", `\pL+`, "(?:abcdefghijk){1000}", "\x00", `\z^`} {
		f.Add(pattern, true, true, []byte("abc\nABC\r\nx"))
	}
	f.Fuzz(func(t *testing.T, pattern string, expression, ignoreCase bool, line []byte) {
		m, err := newMatcher(pattern, expression, ignoreCase)
		if err != nil {
			return
		}
		line = bytes.ReplaceAll(line, []byte("\n"), nil)
		start, end, ok := m.find(line, false)
		if ok && (start < 0 || end < start || end > len(line)) {
			t.Errorf("%q matches %q at %d to %d", pattern, line, start, end)
		}
		if ok && m.hint != nil && m.hint(line) < 0 {
			t.Errorf("%q matches %q, but the hint says no", pattern, line)
		}
	})
}

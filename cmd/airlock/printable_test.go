package main

import (
	"maps"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
)

func TestPrintable(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                      "",
		"plain text":            "plain text",
		"naïve 日本 🚀":            "naïve 日本 🚀",
		"\x1b]0;title\x07":      `\x1b]0;title\a`,
		"a\nb\tc\rd\x00e\x7f":   `a\nb\tc\rd\x00e\x7f`,
		"\u009b31m":             `\u009b31m`, // the same as ESC [
		"\u202Egpj.exe":         `\u202egpj.exe`,
		"\u200bhidden\ufeff":    `\u200bhidden\ufeff`,
		"no \xff UTF-8\xc3":     `no \xff UTF-8\xc3`,
		`C:\x1b`:                `C:\\x1b`,
		"\xf0\x9f\x9a\u2028end": `\xf0\x9f\x9a\u2028end`,
	} {
		if got := printable(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestShellWords(t *testing.T) {
	t.Parallel()
	for want, argv := range map[string][]string{
		"ls -l /tmp":            {"ls", "-l", "/tmp"},
		"sh -c 'echo $HOME; x'": {"sh", "-c", "echo $HOME; x"},
		`echo '' 'it'\''s'`:     {"echo", "", "it's"},
		`printf $'\x1b[31m\'x'`: {"printf", "\x1b[31m'x"},
		`日本 $'a\nb' $'c:\\d'`:   {"日本", "a\nb", `c:\d`},
	} {
		if got := shellWords(argv); got != want {
			t.Errorf("%q: got %s, want %s", argv, got, want)
		}
	}
}

func TestWidth(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"": 0, "abc": 3, "naïve": 5, "nai\u0308ve": 5, "日本": 4, "🚀": 2, "…": 1} {
		if got := width(text); got != want {
			t.Errorf("%q: got %d, want %d", text, got, want)
		}
	}
	for _, test := range []struct {
		text    string
		columns int
		want    string
	}{
		{"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"日本語", 5, "日本…"}, {"日本語", 4, "日…"}, {"日本", 1, "…"}, {"nai\u0308ve", 4, "nai\u0308…"},
	} {
		if got := cut(test.text, test.columns); got != test.want {
			t.Errorf("%q in %d: got %q, want %q", test.text, test.columns, got, test.want)
		}
	}
}

// TestPrintableJSON: of all characters there are, only those get to a terminal that it
// just shows, and the text means the same.
func TestPrintableJSON(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	for r := range unicode.MaxRune + 1 {
		if utf8.ValidRune(r) {
			all.WriteRune(r)
		}
	}
	object := map[string]string{all.String(): "a" + all.String(), "b\u202e": "\u009b31m"}
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	shown := printableJSON(text)
	for _, r := range string(shown) {
		if !unicode.IsPrint(r) {
			t.Fatalf("%U is shown as it is", r)
		}
	}
	var again map[string]string
	if err := json.Unmarshal(shown, &again); err != nil || !maps.Equal(again, object) {
		t.Errorf("it means something else: %v", err)
	}
	for text, want := range map[string]string{
		`"naïve 日本 🚀"`: `"naïve 日本 🚀"`, "\"\u009b\"": `"\u009b"`, "\"\x7f\"": `"\u007f"`, "\"\U000e0001\"": `"\udb40\udc01"`,
	} {
		if got := string(printableJSON([]byte(text))); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}

// FuzzPrintable asserts that nothing gets to a terminal that it would not just show,
// and that no two texts look the same.
func FuzzPrintable(f *testing.F) {
	f.Add("\x1b[2J", `\x1b[2J`)
	f.Add("\u202e", "\xff")
	f.Fuzz(func(t *testing.T, a, b string) {
		shown := printable(a)
		if !utf8.ValidString(shown) || strings.ContainsFunc(shown, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("%q is shown as %q", a, shown)
		}
		if a != b && shown == printable(b) {
			t.Errorf("%q and %q are both shown as %q", a, b, shown)
		}
		if word := shellWord(a); strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("the word %q is shown as %q", a, word)
		}
		for columns := 1; columns < 10; columns++ {
			if got := cut(shown, columns); width(got) > columns {
				t.Errorf("%q is wider than %d", got, columns)
			}
		}
	})
}

func TestTable(t *testing.T) {
	t.Parallel()
	table := table{heading: []string{"ID", "N", "COMMAND"}, right: []bool{1: true}}
	table.add("a", "1", "sleep 5")
	table.add("日本", "100", "")
	want := []string{"ID      N  COMMAND", "a       1  sleep 5", "日本  100  -"}
	if got := table.lines(0); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
	for _, line := range table.lines(12) {
		if width(line) > 12 {
			t.Errorf("%q is too wide", line)
		}
	}
}

func TestBytesText(t *testing.T) {
	t.Parallel()
	for n, want := range map[uint64]string{
		0: "0", 1023: "1023", 1024: "1.0K", 10_000: "9.8K", 10_240: "10K", 1023 << 10: "1023K", 1<<20 - 1: "1.0M",
		5 << 30: "5.0G", 1<<64 - 1: "16E",
	} {
		if got := bytesText(n); got != want {
			t.Errorf("%d: got %s, want %s", n, got, want)
		}
	}
}

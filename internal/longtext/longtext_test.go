package longtext

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

var long = strings.Repeat("QUJD", Least/4)

func TestFind(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, text string
		want       string // the content; "" if there is none
	}{
		{"alone", `"` + long + `"`, long},
		{"behind a name", `{"id":1,"params":{"chunk":"` + long + `","x":1}}`, long},
		{"behind escapes", `{"a\"b\\":"\"\\","chunk":"` + long + `"}`, long},
		{"the first of two", `["` + long + `1","` + long + `2"]`, long + "1"},
		{"too short", `["` + long[1:] + `"]`, ""},
		{"as a name", `{"` + long + `":1}`, ""},
		{"as a name before blanks", "{\"" + long + "\" \r\n\t:1}", ""},
		{"a name and a string", `{"` + long + `":"` + long + `0"}`, long + "0"},
		{"with an escape", `["` + long + `\n"]`, ""},
		{"with an escaped quote", `["` + long + `\""]`, ""},
		{"with a control character", `["` + long + "\x1f" + `"]`, ""},
		{"not ASCII", `["` + long + `é"]`, ""},
		{"DEL", `["` + long + "\x7f" + `"]`, ""},
		{"no end", `["` + long, ""},
		{"no end but an escape", `["` + long + `\`, ""},
		{"far behind", "[" + strings.Repeat(`"x",`, looks) + `"` + long + `"]`, ""},
		{"not JSON", long, ""},
		{"empty", "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			begin, end, found := Find([]byte(test.text))
			if found != (test.want != "") || test.text[begin:end] != test.want {
				t.Errorf("found %v, %d to %d of %d", found, begin, end, len(test.text))
			}
		})
	}
}

// plain is right for every byte at every place of a vector.
func TestPlain(t *testing.T) {
	t.Parallel()
	for at := range 100 {
		for c := range 256 {
			text := []byte(strings.Repeat("a", 100))
			text[at] = byte(c)
			want := c >= ' ' && c <= '~' && c != '\\'
			if got := plain(text); got != want {
				t.Errorf("%#x at %d: %v, want %v", c, at, got, want)
			}
		}
	}
}

// Of what is escaped there can be as much as fits into a message: to look for the
// end of such a string takes no longer than for another one.
func TestManyEscapes(t *testing.T) {
	t.Parallel()
	for _, escape := range []string{`\\`, `\"`, `\n`, `\u0041`} {
		text := []byte(`["` + strings.Repeat(escape, (8<<20)/len(escape)) + `","` + long + `"]`)
		if begin, end, found := Find(text); !found || string(text[begin:end]) != long {
			t.Errorf("%s: found %v, %d to %d", escape, found, begin, end)
		}
	}
}

// FuzzFind: the text is JSON if and only if it is without what was found, which is
// part of a string.
func FuzzFind(f *testing.F) {
	for _, seed := range []string{`{"a":"@"}`, `{"@":"@"}`, `"\"@"`, `"@`, `["@","\\"]`, `{"a":"@" }x`, `"\\\"@\"`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		data := []byte(strings.ReplaceAll(text[:min(len(text), 1000)], "@", long))
		begin, end, found := Find(data)
		if !found {
			return
		}
		if end-begin < Least || data[begin-1] != '"' || data[end] != '"' {
			t.Fatalf("found %d to %d", begin, end)
		}
		without := append(bytes.Clone(data[:begin]), data[end:]...)
		if json.Valid(data) != json.Valid(without) {
			t.Errorf("%q is JSON: %v; without what was found: %v", text, json.Valid(data), json.Valid(without))
		}
	})
}

func BenchmarkFind(b *testing.B) {
	data := []byte(`{"id":12,"method":"fs/writeBlock","params":{"chunk":"` + strings.Repeat("QUJD", 350_000) + `"}}`)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, _, found := Find(data); !found {
			b.Fatal("nothing found")
		}
	}
}

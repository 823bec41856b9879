package discover

import (
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/pelletier/go-toml/v2"
	"pgregory.net/rapid"

	"github.com/airlock-exec/airlock/internal/limits"
)

// same compares tables: dates by what they mean.
var same = cmp.Options{cmpopts.EquateNaNs(), cmp.Comparer(func(a, b time.Time) bool { return a.Equal(b) })}

func TestEncodeTOML(t *testing.T) {
	t.Parallel()
	parsed, err := parseTOML([]byte(`
b = -1
a = "x\ty\"\\\u0001\u007f"
'odd key' = 1e300
f = [1.0, inf, -inf, 1979-05-27T07:32:00.5+01:00, 1979-05-27, 07:32:00, 1979-05-27T07:32:00]
t.u.v = true
t.w = {}
[[list]]
x = [{y = 1}, {}]
[t.'']
'ä' = '''
'''
`))
	if err != nil {
		t.Fatal(err)
	}
	text, err := encodeTOML(parsed, 1000)
	if err != nil {
		t.Fatal(err)
	}
	const want = `a = "x\ty\"\\\u0001\u007F"
b = -1
f = [1.0, inf, -inf, 1979-05-27T07:32:00.5+01:00, 1979-05-27, 07:32:00, 1979-05-27T07:32:00]
list = [{x = [{y = 1}, {}]}]
"odd key" = 1e+300

[t.""]
"ä" = ""

[t.u]
v = true

[t.w]
`
	if diff := cmp.Diff(want, text); diff != "" {
		t.Error(diff)
	}
	if _, err := encodeTOML(parsed, len(want)); err != nil {
		t.Error(err)
	}
	if _, err := encodeTOML(parsed, len(want)-1); err == nil {
		t.Error("no error at the limit")
	}
}

// drawTOML makes a value of TOML.
func drawTOML(t *rapid.T, depth int) any {
	kinds := 7
	if depth == 0 {
		kinds = 5
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return rapid.String().Draw(t, "string")
	case 1:
		return rapid.Int64().Draw(t, "integer")
	case 2:
		return rapid.Float64Range(math.Inf(-1), math.Inf(1)).Draw(t, "float")
	case 3:
		return rapid.Bool().Draw(t, "boolean")
	case 4:
		return time.Unix(rapid.Int64Range(0, 1<<37).Draw(t, "seconds"), 0).UTC()
	case 5:
		list := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "length") {
			list = append(list, drawTOML(t, depth-1))
		}
		return list
	}
	return drawTable(t, depth-1)
}

func drawTable(t *rapid.T, depth int) table {
	drawn := table{}
	for range rapid.IntRange(0, 4).Draw(t, "size") {
		drawn[rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"a", "b", "-"})).Draw(t, "key")] = drawTOML(t, depth)
	}
	return drawn
}

// TestEncodeTOMLAgain asserts that what is written is what is read.
func TestEncodeTOMLAgain(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		drawn := drawTable(t, 4)
		text, err := encodeTOML(drawn, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		again, err := parseTOML([]byte(text))
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if diff := cmp.Diff(drawn, again, same, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("%s\n%s", diff, text)
		}
	})
}

// TestSelectPaths asserts that just what paths lead to is selected, by asking for
// everything, piece by piece and as a whole.
func TestSelectPaths(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		from := drawTable(t, 4)
		pieces := pathsOf(from)
		some := rapid.SliceOfNDistinct(rapid.SampledFrom(append(pieces, []string{"no such key"})), 0, len(pieces),
			func(path []string) string { return strings.Join(path, "\x00") }).Draw(t, "paths")
		selected := selectPaths(from, some)
		wanted := func(path []string) bool {
			for _, asked := range some {
				if strings.HasPrefix(strings.Join(path, "\x00")+"\x00", strings.Join(asked, "\x00")+"\x00") {
					return true
				}
			}
			return false
		}
		told := map[string]bool{}
		for _, path := range pathsOf(selected) {
			told[strings.Join(path, "\x00")] = true
			if _, isTable := valueAt(from, path).(table); !isTable && !wanted(path) {
				t.Fatalf("%q is told, and was not asked for", path)
			}
		}
		for _, path := range pieces {
			if wanted(path) && !told[strings.Join(path, "\x00")] {
				t.Fatalf("%q was asked for, and is not told", path)
			}
		}
		if diff := cmp.Diff(from, selectPaths(from, append(pieces, pieces...)), same, cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
	})
}

// pathsOf returns the paths to everything in a table, the tables in it included.
// Keys with NUL, which tests join them by, are left out.
func pathsOf(from table) [][]string {
	var paths [][]string
	for key, value := range from {
		paths = append(paths, []string{key})
		if inner, isTable := value.(table); isTable {
			for _, path := range pathsOf(inner) {
				paths = append(paths, append([]string{key}, path...))
			}
		}
	}
	return paths
}

func valueAt(from table, path []string) any {
	if len(path) == 1 {
		return from[path[0]]
	}
	inner, _ := from[path[0]].(table)
	return valueAt(inner, path[1:])
}

// BenchmarkParseTOML parses files that are just within the limits: it is the library
// whose time makes them necessary.
func BenchmarkParseTOML(b *testing.B) {
	for name, text := range map[string]string{
		"keys": repeated("k%d=1\n", limits.ConfigSigns), "tables": repeated("[t%d]\n", limits.ConfigSigns),
		"inline": "a={" + repeated("k%d=1,", limits.ConfigSigns-5) + "z=1}", "dots": repeated("k%d.x.y=1\n", limits.ConfigSigns),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := parseTOML([]byte(text)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestParseTOMLSigns asserts that a file may have as many signs as the limit says.
func TestParseTOMLSigns(t *testing.T) {
	t.Parallel()
	if _, err := parseTOML([]byte("a = '" + strings.Repeat("[", limits.ConfigSigns-1) + "'")); err != nil {
		t.Error(err)
	}
	if _, err := parseTOML([]byte("a = '" + strings.Repeat("[", limits.ConfigSigns) + "'")); err == nil {
		t.Error("no error")
	}
}

func FuzzTOML(f *testing.F) {
	for _, text := range []string{
		"a = 1\n[b.c]\nd = [1.5, {e = 'f'}]\n[[g]]\n[[g]]\nh = 1979-05-27T07:32:00Z\n", "a = \"\\u00e9\"\n'b c'.d = nan\n",
		"a = '''\nb'''\nc = 07:32:00.999\nd = 1979-05-27 07:32:00\n", "[a]\n[a]\n", "a = [[[[", "\xef\xbb\xbfa = true",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		parsed, err := parseTOML([]byte(text))
		if err != nil || !utf8.ValidString(text) {
			return
		}
		encoded, err := encodeTOML(parsed, 64<<20)
		if err != nil {
			t.Fatal(err)
		}
		var again table
		if err := toml.Unmarshal([]byte(encoded), &again); err != nil {
			t.Fatalf("%v\n%s", err, encoded)
		}
		if diff := cmp.Diff(parsed, again, same, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("%s\n%s", diff, encoded)
		}
	})
}

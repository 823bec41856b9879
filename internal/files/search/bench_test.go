package search

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/airlock-exec/airlock/protocol"
)

// BenchmarkSearch searches this repository, or the tree that SEARCH_TREE names.
func BenchmarkSearch(b *testing.B) {
	tree := os.Getenv("SEARCH_TREE")
	if tree == "" {
		tree = filepath.Join("..", "..", "..")
	}
	tree, err := filepath.Abs(tree)
	if err != nil {
		b.Fatal(err)
	}
	for _, test := range []struct {
		name string
		p    protocol.SearchParams
	}{
		{"rare", protocol.SearchParams{Pattern: "ErrUnexpectedEOF"}},
		{"none", protocol.SearchParams{Pattern: "zyzzyvaXYZ"}},
		{"names", protocol.SearchParams{Pattern: "zyzzyvaXYZ", Include: []string{"*.nothing"}}},
		{"ignoreCase", protocol.SearchParams{Pattern: "errunexpectedeof", IgnoreCase: true}},
		{"regexp", protocol.SearchParams{Pattern: `func \(\w+ \*?Reader\) Read`, Regexp: true}},
		{"regexpSlow", protocol.SearchParams{Pattern: `[a-z]+Unexpected[A-Z]+`, Regexp: true}},
		{"regexpNoHint", protocol.SearchParams{Pattern: `(Unexpected|Premature)EOF\d`, Regexp: true}},
		{"regexpWords", protocol.SearchParams{Pattern: `UnexpectedEOF|ShortBuffer|NoProgress`, Regexp: true}},
		{"regexpClasses", protocol.SearchParams{Pattern: `[A-Z]{4,}_[0-9]{3}`, Regexp: true}},
		{"regexpFold", protocol.SearchParams{Pattern: `(todo|fixme)\(`, Regexp: true, IgnoreCase: true}},
		{"regexpAnything", protocol.SearchParams{Pattern: `\w+\s+\w+x{3}`, Regexp: true}},
		{"regexpUnicode", protocol.SearchParams{Pattern: `\pL+[^a]\pN+`, Regexp: true}},
		{"regexpAllLines", protocol.SearchParams{Pattern: `[A-Z][a-z]+\d\d\dx`, Regexp: true}},
		{"ignoreFiles", protocol.SearchParams{Pattern: "zyzzyvaXYZ", IgnoreFiles: true}},
	} {
		b.Run(test.name, func(b *testing.B) {
			test.p.Path = uri(b, tree)
			var r result
			for b.Loop() {
				r = all(b.Context(), b, test.p, never)
			}
			b.ReportMetric(float64(len(r.matches)), "matches")
		})
	}
}

package sandbox

import (
	"regexp"
	"strings"
	"testing"
)

func TestGlob(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		pattern, matches, others string
	}{
		{"/w/*.env", "/w/.env /w/a.env", "/w/a/.env /w/env /w/.envx /x/.env"},
		{"/w/**/.env", "/w/.env /w/a/.env /w/a/b/.env", "/w/x.env /.env"},
		{"/w/**/a/*", "/w/a/x /w/b/a/x", "/w/a /w/a/b/c"},
		{"/w/**", "/w/a /w/a/b", "/w /wa"},
		{"/w/a**", "/w/a /w/ab", "/w/a/b"},
		{"/w/?", "/w/a /w/ü", "/w/ab /w/"},
		{"/w/[.]env", "/w/.env", "/w/xenv"},
		{"/w/[!.]*", "/w/a /w/ab", "/w/.a /w/a/b"},
		{"/w/[a-c]", "/w/a /w/c", "/w/d /w/-"},
		{"/w/[]a-]*", "/w/] /w/a /w/-", "/w/b"},
		{"/w/[z-a]*", "/w/[z-a]x", "/w/b"},
		{"/w/[a*", "/w/[a /w/[ab", "/w/a"},
		{"/w/{f,.en}*", "/w/f /w/.env", "/w/{f,.en}"},
		{"/w/{a,b/{c,d}}*", "/w/a /w/b/c /w/b/dx", "/w/b /w/c"},
		{"/w/{a*", "/w/{ab", "/w/a"},
		{`/w/\*?`, "/w/*x", "/w/xx"},
		{`/w/a,b*`, "/w/a,bc", "/w/a"},
		{`/w/*+(x)$`, "/w/a+(x)$", "/w/ax"},
	} {
		matcher, err := compileGlob(test.pattern)
		if err != nil {
			t.Errorf("%s: %v", test.pattern, err)
			continue
		}
		for path := range strings.FieldsSeq(test.matches) {
			if !matcher.MatchString(path) {
				t.Errorf("%s does not match %s", test.pattern, path)
			}
		}
		for path := range strings.FieldsSeq(test.others) {
			if matcher.MatchString(path) {
				t.Errorf("%s matches %s", test.pattern, path)
			}
		}
	}
}

func TestGlobBase(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]string{
		"/w/*.env": "/w", "/w/a*/b": "/w", "/w/a/b?": "/w/a", "/w/{a,b}/*": "/w", `/w/\a/*`: "/w",
		"/*": "", "/**/.env": "", "/w/f": "", "/w/{a,b}": "", "/w]x": "",
	} {
		if got := globBase(pattern); got != want {
			t.Errorf("%s: %q, want %q", pattern, got, want)
		}
	}
}

// FuzzGlob: every pattern is understood, and one without anything special matches itself.
func FuzzGlob(f *testing.F) {
	for _, s := range []string{"/a/*", "/**/x", "/[a-", "/{a,{b}", `/\`, "/[^]]", "/[\\]]", "/{[}]}", "/\xff*", "/[z-a]*"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, pattern string) {
		globBase(pattern)
		matcher, err := compileGlob(pattern)
		if err != nil && len(pattern) < 1000 {
			t.Fatalf("%q: %v", pattern, err)
		}
		if !strings.ContainsAny(pattern, `*?[]{}\,`) && regexp.QuoteMeta(pattern) == pattern && !matcher.MatchString(pattern) {
			t.Errorf("%q does not match itself", pattern)
		}
	})
}

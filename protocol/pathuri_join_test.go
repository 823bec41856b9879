package protocol

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestJoin(t *testing.T) {
	for _, test := range []struct{ base, relative, want string }{
		{"file:///a", "b", "file:///a/b"},
		{"file:///a/", "b/c", "file:///a/b/c"},
		{"file:///a", "", "file:///a"},
		{"file:///a", ".", "file:///a/"},
		{"file:///a/b", "../c", "file:///a/c"},
		{"file:///a", "../../../c", "file:///c"},
		{"file:///", "a", "file:///a"},
		{"file:///", "", "file:///"},
		{"file:///a", "x y%2f#?\\é\xff", "file:///a/x%20y%252f%23%3F%5C%C3%A9%FF"},
		{"file:///a", "%2e%2e", "file:///a/%252e%252e"},
		{"file:///a", "\t\n", "file:///a/%09%0A"},
		{"file:///C:/a", "b", "file:///C:/a/b"},
		{"file:///C:/a", "../../b", "file:///C:/b"},
		{"file://server/share", "b", "file://server/share/b"},
		{"file:///a", "/b", ""},
		{"file:///a", "b\x00", ""},
		{"file:///%00/bad/path/L2EvAGI", "b", ""},
	} {
		base, err := ParsePathURI(test.base)
		if err != nil && test.want != "" {
			t.Fatal(err)
		}
		got, err := base.Join(test.relative)
		if got.String() != test.want || (err == nil) != (test.want != "") {
			t.Errorf("%s and %q: %s in place of %s, error %v", test.base, test.relative, got, test.want, err)
		}
	}
}

func TestBaseAndParent(t *testing.T) {
	for _, test := range []struct{ path, base, parent string }{
		{"file:///a/b%20c", "b c", "file:///a"},
		{"file:///a/b/", "b", "file:///a"},
		{"file:///a", "a", "file:///"},
		{"file:///", "", ""},
		{"file:///a/%FF", "%FF", "file:///a"},
		{"file:///C:/a", "a", "file:///C:"},
		{"file:///C:/", "", ""},
		{"file://server/share/a", "a", "file://server/share"},
		{"file://server/share", "share", ""},
		{opaquePrefix + "L2E", "", ""},
	} {
		path, err := ParsePathURI(test.path)
		if err != nil {
			t.Fatal(err)
		}
		parent, ok := path.Parent()
		if path.Base() != test.base || parent.String() != test.parent || ok != (test.parent != "") {
			t.Errorf("%s: base %q, parent %s", test.path, path.Base(), parent)
		}
	}
}

// TestJoinName: any name can be joined, and is found again.
func TestJoinName(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		root, err := ParsePathURI(rapid.SampledFrom([]string{"file:///r/s", "file:///C:/r", "file://h/s/r"}).Draw(t, "root"))
		if err != nil {
			t.Fatal(err)
		}
		name := string(rapid.SliceOfN(rapid.Byte(), 1, 20).Draw(t, "name"))
		if strings.ContainsAny(name, "/\x00") || name == "." || name == ".." {
			t.Skip()
		}
		path, err := root.Join(name)
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParsePathURI(path.String())
		if err != nil || again != path {
			t.Fatalf("%s is read as %s, error %v", path, again, err)
		}
		if parent, ok := path.Parent(); !ok || parent != root {
			t.Fatalf("%q is in %s", name, parent)
		}
		if base := path.Base(); utf8.ValidString(name) && base != name {
			t.Fatalf("%q is called %q", name, base)
		}
	})
}

package main

import (
	"io"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/airlock-exec/airlock/protocol"
)

func mustURI(t *testing.T, text string) protocol.PathURI {
	t.Helper()
	uri, err := protocol.ParsePathURI(text)
	if err != nil {
		t.Fatal(err)
	}
	return uri
}

func hostOf(t *testing.T, platform, cwd string) *host {
	t.Helper()
	info := &protocol.EnvironmentInfo{PlatformOS: platform}
	if cwd != "" {
		uri := mustURI(t, cwd)
		info.CWD = &uri
	}
	return &host{info: info, out: newOutput(io.Discard, false), stderr: io.Discard}
}

func TestRemotePaths(t *testing.T) {
	t.Parallel()
	unix := hostOf(t, "linux", "file:///work%20dir")
	windows := hostOf(t, "windows", "file:///C:/here")
	lost := hostOf(t, "linux", "")
	for _, test := range []struct {
		host *host
		text string
		want string // empty: an error
	}{
		{unix, "/a/b c", "file:///a/b%20c"},
		{unix, "/a/../b/", "file:///b"},
		{unix, "/a%41?#", "file:///a%2541%3F%23"},
		{unix, "a", "file:///work%20dir/a"},
		{unix, "./a/../b", "file:///work%20dir/b"},
		{unix, ".", "file:///work%20dir"},
		{unix, "../../..", "file:///"},
		{unix, `a\b`, "file:///work%20dir/a%5Cb"},
		{unix, "file:///x%FFy", "file:///x%FFy"},
		{unix, "file:///C:/x", "file:///C:/x"},
		{unix, "", ""},
		{unix, "a\x00b", ""},
		{unix, "file:///a?b", ""},
		{windows, `C:\a b\c`, "file:///C:/a%20b/c"},
		{windows, "d:/x", "file:///D:/x"},
		{windows, `C:\`, "file:///C:"},
		{windows, `\\server\share\x y`, "file://server/share/x%20y"},
		{windows, `a\b`, "file:///C:/here/a/b"},
		{windows, `C:a`, ""},
		{windows, `\a`, ""},
		{lost, "/a", "file:///a"},
		{lost, "a", ""},
	} {
		path, err := test.host.path(test.text)
		if test.want == "" {
			if err == nil || !isAbout(err) {
				t.Errorf("%q is read as %v, %v", test.text, path.uri, err)
			}
			continue
		}
		if err != nil || path.uri.String() != test.want || path.text != test.text {
			t.Errorf("%q is read as %v, %v; want %s", test.text, path.uri, err, test.want)
		}
	}
}

func TestNativeText(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ platform, uri, want string }{
		{"linux", "file:///a/b%20c", "/a/b c"},
		{"linux", "file:///a%FF", "/a\xff"},
		{"linux", "file:///C:/x", "file:///C:/x"},
		{"linux", "file://server/x", "file://server/x"},
		{"windows", "file:///C:/a/b%20c", `C:\a\b c`},
		{"windows", "file:///C:", `C:\`},
		{"windows", "file://server/share/x", `\\server\share\x`},
		{"windows", "file:///C:/%zz", "file:///C:/%zz"},
	} {
		if got := hostOf(t, test.platform, "").native(mustURI(t, test.uri)); got != test.want {
			t.Errorf("%s on %s is shown as %q, want %q", test.uri, test.platform, got, test.want)
		}
	}
}

func TestBelow(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ platform, top, uri, want string }{
		{"linux", ".", "file:///w", "."},
		{"linux", ".", "file:///w/a/b%20c", "a/b c"},
		{"linux", "a", "file:///w/a/b", "a/b"},
		{"linux", "a/", "file:///w/a/b", "a/b"},
		{"linux", "/", "file:///x", "/x"},
		{"linux", "..", "file:///x", "../x"},
		{"linux", "/w/a", "file:///w/a/b%FF", "/w/a/b\xff"},
		{"linux", "a", "file:///elsewhere", "/elsewhere"},
		{"linux", "a", "file:///w/ab", "/w/ab"},
		{"linux", "file:///w/a", "file:///w/a/b", "/w/a/b"},
		{"windows", "a", "file:///C:/w/a/b/c", `a\b\c`},
	} {
		cwd := "file:///w"
		if test.platform == "windows" {
			cwd = "file:///C:/w"
		}
		h := hostOf(t, test.platform, cwd)
		top, err := h.path(test.top)
		if err != nil {
			t.Fatal(err)
		}
		if got := h.below(top, mustURI(t, test.uri)); got != test.want {
			t.Errorf("%s below %s is shown as %q, want %q", test.uri, test.top, got, test.want)
		}
	}
}

// TestNativeIsRead asserts that a path that is shown can be typed.
func TestNativeIsRead(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		platform := rapid.SampledFrom([]string{"linux", "windows"}).Draw(r, "platform")
		root := map[string]string{"linux": "file:///", "windows": "file:///C:/"}[platform]
		name := rapid.StringMatching(`[ -~ü]{1,8}(/[ -~ü]{1,8})?`).Draw(r, "name")
		if platform == "windows" && strings.ContainsAny(name, `\:`) {
			return // there are no such names
		}
		uri, err := mustURI(t, root).Join(strings.TrimLeft(name, "/"))
		if err != nil {
			r.Fatal(err)
		}
		h := hostOf(t, platform, "")
		text := h.native(uri)
		if strings.HasPrefix(text, "file:") && platform == "linux" {
			return // it looks like a drive
		}
		again, err := h.path(text)
		if err != nil || strings.TrimRight(again.uri.String(), "/") != strings.TrimRight(uri.String(), "/") {
			r.Errorf("%v is shown as %q, which is read as %v, %v", uri, text, again.uri, err)
		}
	})
}

package protocol

import (
	"runtime"
	"strings"
	"testing"
)

// thisOS is the name of the OS in error texts.
var thisOS = map[string]string{"darwin": "macos"}[runtime.GOOS]

func init() {
	if thisOS == "" {
		thisOS = runtime.GOOS
	}
}

const (
	relative  = "invalid URI: relative URL without a base"
	badHost   = "invalid URI: invalid international domain name"
	badIPv6   = "invalid URI: invalid IPv6 address"
	hasQuery  = "query parameters are not allowed in path URIs"
	hasFrag   = "fragments are not allowed in path URIs"
	noUnix    = "" // decodes, but names no path of Unix
	canonical = "" // the text is canonical already
)

func TestParsePathURI(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ in, want, unix string }{
		// Spellings of the scheme and the slashes.
		{"file:///tmp", canonical, "/tmp"},
		{"file:tmp", "file:///tmp", "/tmp"},
		{"file:/tmp", "file:///tmp", "/tmp"},
		{"file:", "file:///", "/"},
		{"file://", "file:///", "/"},
		{"FILE:/tmp", "file:///tmp", "/tmp"},
		{"fIlE:", "file:///", "/"},
		{`file:\tmp`, "file:///tmp", "/tmp"},
		{`file:\\\tmp\x`, "file:///tmp/x", "/tmp/x"},
		{"  file:///tmp  ", "file:///tmp", "/tmp"},
		{" \x01file:///tmp\x00", "file:///tmp", "/tmp"},
		{"fi\tle:///t\r\nmp", "file:///tmp", "/tmp"},
		{"file:x:y", "file:///x:y", "/x:y"},
		// Empty segments.
		{"file:////tmp", "file:///tmp", "/tmp"},
		{"file:////", "file:///", "/"},
		{"file:///tmp//", canonical, "/tmp"},
		{"file:///a//b", canonical, "/a/b"},
		{"file://///h/x", "file:///h/x", "/h/x"},
		{`file:///\h`, "file:///h", "/h"},
		// Dot segments.
		{"file:///a/./b/../c", "file:///a/c", "/a/c"},
		{"file:///a/%2e/%2E%2e/b", "file:///b", "/b"},
		{"file:///.%2e/%2e./a", "file:///a", "/a"},
		{"file:///a/..", "file:///", "/"},
		{"file:///a/.", "file:///a/", "/a"},
		{"file:///a/b/../../../c", "file:///c", "/c"},
		{"file:///a//../b", "file:///a/b", "/a/b"},
		{"file:///a/..//b", "file:///b", "/b"},
		{"file:///.//p", "file:///p", "/p"},
		{"file:..", "file:///", "/"},
		{"file:./x", "file:///x", "/x"},
		{`file:///a\..\b`, "file:///b", "/b"},
		{"file:///a/.../b", canonical, "/a/.../b"},
		{"file:///a/.. /b", "file:///a/..%20/b", "/a/.. /b"},
		{"file:///a/%2e%2e%2e", canonical, "/a/..."},
		// Percent-encoding.
		{"file:///a b", "file:///a%20b", "/a b"},
		{"file:///é", "file:///%C3%A9", "/é"},
		{"file:///😀", "file:///%F0%9F%98%80", "/😀"},
		{"file:///%C3%a9", canonical, "/é"},
		{"file:///%ff%fe", canonical, "/\xff\xfe"},
		{"file:///a\x01\x7f", "file:///a%01%7F", "/a\x01\x7f"},
		{"file:///\"<>`{}", "file:///%22%3C%3E%60%7B%7D", "/\"<>`{}"},
		{"file:///!$&'()*+,;=:@[]^_|~-.", canonical, "/!$&'()*+,;=:@[]^_|~-."},
		{"file:///%", canonical, "/%"},
		{"file:///%y", canonical, "/%y"},
		{"file:///tmp/%zz", canonical, "/tmp/%zz"},
		{"file:///a%2", canonical, "/a%2"},
		{"file:///a%25b", canonical, "/a%b"},
		{"file:///a%252e", canonical, "/a%2e"},
		{"file:///a%2Fb", canonical, "/a/b"},
		{"file:///%2F..", canonical, "/"},
		{"file:///a%2F..%2Fb", canonical, "/b"},
		{"file:///a%5Cb", canonical, `/a\b`},
		{"file:///a%5C..", canonical, `/a\..`},
		// Hosts.
		{"file://localhost", "file:///", "/"},
		{"file://localhost/tmp", "file:///tmp", "/tmp"},
		{"file://LOCALHOST/tmp", "file:///tmp", "/tmp"},
		{"file://%6cocalhost/tmp", "file:///tmp", "/tmp"},
		{"file://localhost//x", "file:///x", "/x"},
		{"file://localhost./x", canonical, noUnix},
		{"file://host/tmp", canonical, noUnix},
		{"file://h", "file://h/", noUnix},
		{"file://HoSt/tmp", "file://host/tmp", noUnix},
		{"file://host%41/tmp", "file://hosta/tmp", noUnix},
		{`file:\\h\x`, "file://h/x", noUnix},
		{`file:/\h/x`, "file://h/x", noUnix},
		{"file://h///a//", "file://h/a//", noUnix},
		{"file://h/../..", "file://h/", noUnix},
		{"file://a_b/", canonical, noUnix},
		{"file://xn--bcher-kva/", canonical, noUnix},
		{"file://!$&'()*+,;=\"`{}~/", canonical, noUnix},
		{"file://1.2.3.4/tmp", canonical, noUnix},
		{"file://[::1]/tmp", canonical, noUnix},
		{"file://[0:0:1:0:0:0:0:0]/", "file://[0:0:1::]/", noUnix},
		{"file://[ABCD::]/", "file://[abcd::]/", noUnix},
		// Drives.
		{"file:///C:", canonical, noUnix},
		{"file:///c:/x", "file:///C:/x", noUnix},
		{"file:///C%3A/x", canonical, noUnix},
		{"file:///c%3a", canonical, noUnix},
		{"file:////c:/x", "file:///C:/x", noUnix},
		{"file://C:/x", "file:///C:/x", noUnix},
		{"file://c|/x", "file:///C:/x", noUnix},
		{"file:c|/x", "file:///C:/x", noUnix},
		{`file:/c|\x`, "file:///C:/x", noUnix},
		{"file:a/../c|/x", "file:///C:/x", noUnix},
		{"file://h/c:/x", "file:///C:/x", noUnix},
		{"file://h/c|/..", "file:///C:/", noUnix},
		{"file:///C:/../..", "file:///C:/", noUnix},
		{"file:///C:/../c|/x", "file:///C:/c|/x", noUnix},
		{"file:///C:/a//", canonical, noUnix},
		{"file:///c%3a/..", "file:///", "/"},
		{"file:///c|/x", canonical, "/c|/x"},
		{"file:///c|/..", "file:///c|/", "/c|"},
		{"file://localhost/c|/x", "file:///c|/x", "/c|/x"},
		{"file:c|x", "file:///c|x", "/c|x"},
		{"file:///c:x", canonical, "/c:x"},
		{"file:///c", canonical, "/c"},
		{"file:///tmp/c:/x", canonical, "/tmp/c:/x"},
		{"file:///C:%2Fq", canonical, "/C:/q"},
		{"file:///%43:/q", canonical, "/C:/q"},
		// Paths that can't be said plainly, and those that could have been.
		{"file:///%00/bad/path/L0M6L3E", canonical, "/C:/q"},
		{"file:///%00/bad/path/L3RtcA", canonical, noUnix},      // /tmp
		{"file:///%00/bad/path/dG1w", canonical, noUnix},        // tmp
		{"file:///%00/bad/path/L0M6L3EvLi4", canonical, noUnix}, // /C:/q/..
		{"file:///%00/bad/path/L0M6L2EAYg", canonical, noUnix},  // /C:/a\0b
		{"file:///%00/bad/path/dABw", canonical, noUnix},        // t\0p
		{"file://localhost/%00/bad/path/L0M6L3E", "file:///%00/bad/path/L0M6L3E", "/C:/q"},
	} {
		p, err := ParsePathURI(test.in)
		if err != nil {
			t.Errorf("%q: %v", test.in, err)
			continue
		}
		if test.want == canonical {
			test.want = test.in
		}
		if p.String() != test.want {
			t.Errorf("%q: got %q, want %q", test.in, p, test.want)
		}
		unix, ok := p.unixPath()
		if !ok {
			unix = noUnix
		}
		if unix != test.unix {
			t.Errorf("%q: path %q, want %q", test.in, unix, test.unix)
		}
	}
}

// TestNULHasNoPath: a path with a NUL can be named, and is nowhere.
func TestNULHasNoPath(t *testing.T) {
	t.Parallel()
	for uri, want := range map[string]string{
		"file:///%00/bad/path/L0M6L2EAYg": "file name contained an unexpected NUL byte",
		"file:///%00/bad/path/dABw":       "'file:///%00/bad/path/dABw' is invalid on '" + thisOS + "'",
	} {
		p, err := ParsePathURI(uri)
		if err != nil {
			t.Errorf("%s: %v", uri, err)
		}
		if native, err := p.Native(); err == nil || err.Error() != want {
			t.Errorf("%s: path %q, error %v, want %s", uri, native, err, want)
		}
	}
}

func TestParsePathURIErrors(t *testing.T) {
	t.Parallel()
	nul := func(uri string) string { return "'" + uri + "' is invalid on '" + thisOS + "'" }
	for _, test := range []struct{ in, want string }{
		{"/tmp", relative},
		{"tmp", relative},
		{"", relative},
		{"  ", relative},
		{"~", relative},
		{`\\srv\share`, relative},
		{":x", relative},
		{"1:x", relative},
		{"-a:x", relative},
		{"file ://x", relative},
		{"fíle:x", relative},
		{"file%3A///tmp", relative},
		{"http://x/", "unsupported path URI scheme `http`"},
		{"HTTP://x/", "unsupported path URI scheme `http`"},
		{`C:\x`, "unsupported path URI scheme `c`"},
		{"a+b-c.1:x", "unsupported path URI scheme `a+b-c.1`"},
		{strings.Repeat("a", 200) + ":", "unsupported path URI scheme `" + strings.Repeat("a", 97) + "…`"},
		{"file:///tmp?x", hasQuery},
		{"file:///tmp?", hasQuery},
		{"file:?", hasQuery},
		{"file:///tmp?#", hasQuery},
		{"file:///%00?x", hasQuery},
		{"file:///tmp#x", hasFrag},
		{"file:#\x00", hasFrag},
		{"file:///tmp#?", hasFrag},
		{"file://u@h/tmp", badHost},
		{"file://u:p@/tmp", badHost},
		{"file://h:80/tmp", badHost},
		{"file://host:/tmp", badHost},
		{"file://:80/tmp", badHost},
		{"file://LOCALHOST:80/x", badHost},
		{"file://u@h/?", badHost},
		{"file://a b/tmp", badHost},
		{"file://ex%20ample/tmp", badHost},
		{"file://a%00b/", badHost},
		{"file://a%zz/", badHost},
		{"file://a^b/", badHost},
		{"file://a[b/", badHost},
		{"file://c|x/", badHost},
		{"file://%FF/", badHost},
		{"file://bücher.de/", badHost},
		{"file://[::1/", badIPv6},
		{"file://[::1]x/", badIPv6},
		{"file://[]/", badIPv6},
		{"file://[1.2.3.4]/", badIPv6},
		{"file://[fe80::1%25eth0]/", badIPv6},
		{"file:///tmp/%00", nul("file:///tmp/%00")},
		{"file:////%00", nul("file:///%00")},
		{"file:///a\x00b", nul("file:///a%00b")},
		{"file:///a b/%zz%00", nul("file:///a%20b/%zz%00")},
		{"file://h/C:/%00", nul("file:///C:/%00")},
		{"file:///c:%00", nul("file:///c:%00")},
		{"file:///%00/bad/path/", nul("file:///%00/bad/path/")},
		{"file:///%00/bad/path/L3RtcA==", nul("file:///%00/bad/path/L3RtcA==")},
		{"file:///%00/bad/path/L0M6L3E/x", nul("file:///%00/bad/path/L0M6L3E/x")},
		{"file:///%00/bad/path/L3Rt/..", nul("file:///%00/bad/path/")},
		{"file://h/%00/bad/path/L0M6L3E", nul("file://h/%00/bad/path/L0M6L3E")},
	} {
		if p, err := ParsePathURI(test.in); err == nil {
			t.Errorf("%q: no error, got %q", test.in, p)
		} else if err.Error() != test.want {
			t.Errorf("%q: got %q, want %q", test.in, err, test.want)
		}
	}
}

func TestUnixURI(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ path, want string }{
		{"/", "file:///"},
		{"/tmp/a b", "file:///tmp/a%20b"},
		{"/é", "file:///%C3%A9"},
		{"/\xff\xfe", "file:///%FF%FE"},
		{"/a%2Fb", "file:///a%252Fb"},
		{`/a\b`, "file:///a%5Cb"},
		{"/\"#%<>?`{}\x7f\n", "file:///%22%23%25%3C%3E%3F%60%7B%7D%7F%0A"},
		{"/!$&'()*+,;=:@[]^_|~-.", "file:///!$&'()*+,;=:@[]^_|~-."},
		{"//a//b/", "file:///a/b"},
		{"/a/../b/.", "file:///b"},
		{"/c:x", "file:///c:x"},
		{"/c|/x", "file:///c|/x"},
		{"/C%3A", "file:///C%253A"},
		{"/C:/q", "file:///%00/bad/path/L0M6L3E"},
		{"/c:", "file:///%00/bad/path/L2M6"},
	} {
		p, err := unixURI(test.path)
		if err != nil || p.String() != test.want {
			t.Errorf("%q: got %q (%v), want %q", test.path, p, err, test.want)
			continue
		}
		if again, err := ParsePathURI(p.String()); err != nil || again != p {
			t.Errorf("%q: %q becomes %q (%v)", test.path, p, again, err)
		}
	}
	for _, path := range []string{"", ".", "tmp", `C:\x`} {
		if p, err := unixURI(path); err == nil {
			t.Errorf("%q: no error, got %q", path, p)
		}
	}
}

func TestWindowsPath(t *testing.T) {
	t.Parallel()
	const none = ""
	for _, test := range []struct{ uri, want string }{
		{"file:///C:", `C:\`},
		{"file:///c:/a/b/", `C:\a\b`},
		{"file:///C%3A/x", `C:\x`},
		{"file:///C:/a%20b/%C3%A9", `C:\a b\é`},
		{"file:///C:/a%5C..%2Fb", `C:\b`},
		{"file:///C:/../../x", `C:\x`},
		{"file:///C:/a%2F..%2F..%2F..", `C:\`},
		{"file://host/share/x", `\\host\share\x`},
		{"file://host/share", `\\host\share\`},
		{"file://host/share/%2F..%2F..%2Fx", `\\host\share\x`},
		{"file://HOST/c$/x", `\\host\c$\x`},
		{"file://host/", none},
		{"file://host/%2Fx", none},
		{"file://host/x%2F..", `\\host\x\`},
		{"file:///usr/local/x", none},
		{"file:///%43:/x", none},
		{"file:///", none},
		{"file:///C:/%ff", none},
		{"file://./pipe/x", none},
		{"file:///%00/bad/path/L0M6L3E", none},
	} {
		p, err := ParsePathURI(test.uri)
		if err != nil {
			t.Errorf("%q: %v", test.uri, err)
			continue
		}
		got, ok := p.windowsPath()
		if !ok {
			got = none
		}
		if got != test.want {
			t.Errorf("%q: got %q, want %q", test.uri, got, test.want)
		}
	}
}

func TestWindowsURI(t *testing.T) {
	t.Parallel()
	const none = ""
	for _, test := range []struct{ path, want string }{
		{`C:\`, "file:///C:/"},
		{`c:\a b\é`, "file:///C:/a%20b/%C3%A9"},
		{`C:/a/..\b`, "file:///C:/b"},
		{`C:\100%41`, "file:///C:/100%2541"},
		{`\\Host\share\x`, "file://host/share/x"},
		{`\\host\share`, "file://host/share/"},
		{`\\host\c$\..\..\x`, "file://host/c$/x"},
		{`C:`, none},
		{`C:x`, none},
		{`\x`, none},
		{`x`, none},
		{``, none},
		{`c|\x`, none},
		{`\\host`, none},
		{`\\host\`, none},
		{`\\host\..\x`, none},
		{`\\host\c:\x`, none},
		{`\\localhost\share`, none}, // would lose its host
		{`\\h%41\share`, none},
		{`\\?\C:\x`, none},
		{`\\.\pipe\x`, none},
	} {
		p, err := windowsURI(test.path)
		if err != nil {
			p.s = none
		}
		if p.String() != test.want {
			t.Errorf("%q: got %q (%v), want %q", test.path, p, err, test.want)
		}
	}
}

func TestNative(t *testing.T) {
	t.Parallel()
	local, foreign := "/a b", "file://host/tmp"
	if runtime.GOOS == "windows" {
		local, foreign = `C:\a b`, "file:///usr/local/checkout"
	}
	p, err := PathURIFromNative(local)
	if err != nil {
		t.Fatal(err)
	}
	if native, err := p.Native(); err != nil || native != local {
		t.Errorf("%q: got %q (%v), want %q", p, native, err, local)
	}
	p, err = ParsePathURI(foreign)
	if err != nil {
		t.Fatal(err)
	}
	want := "'" + foreign + "' is invalid on '" + thisOS + "'"
	if native, err := p.Native(); err == nil || err.Error() != want {
		t.Errorf("%q: got %q (%v), want error %q", p, native, err, want)
	}
	if native, ok := (PathURI{}).unixPath(); ok {
		t.Errorf("zero value: got %q", native)
	}
	if native, ok := (PathURI{}).windowsPath(); ok {
		t.Errorf("zero value: got %q", native)
	}
	for path, want := range map[string]string{
		"x":       `path "x" is not absolute`,
		"/a\x00b": `path "/a\x00b" contains a NUL byte`,
	} {
		if p, err := PathURIFromNative(path); err == nil || err.Error() != want {
			t.Errorf("%q: got %q (%v), want error %q", path, p, err, want)
		}
	}
}

// TestAppendName: a name is said as it is within a path.
func TestAppendName(t *testing.T) {
	for c := 1; c < 256; c++ {
		name := "a" + string([]byte{byte(c)}) + "z"
		if c == '/' {
			continue // stands in no name
		}
		whole, err := unixURI("/dir/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(AppendName([]byte("file:///dir/"), name)); got != whole.String() {
			t.Errorf("%q: got %s, want %s", name, got, whole)
		}
	}
}

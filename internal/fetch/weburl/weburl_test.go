package weburl

import (
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The expectations of TestParse and TestParseErrors are what the Codex
// exec-server said about the same URLs.
func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`http:\\127.0.0.1:1\x`:              "http://127.0.0.1:1/x",
		"http:/127.0.0.1:1/x":               "http://127.0.0.1:1/x",
		"http:127.0.0.1:1":                  "http://127.0.0.1:1/",
		"http:////h//x":                     "http://h//x",
		"HTTP://LOCALHOST:80":               "http://localhost/",
		"HtTpS://127.0.0.1:443/":            "https://127.0.0.1/",
		"http://[::1]:1/":                   "http://[::1]:1/",
		"http://[0:0::1]:1":                 "http://[::1]:1/",
		"http://127.1:1/":                   "http://127.0.0.1:1/",
		"http://0x7f.1:1/":                  "http://127.0.0.1:1/",
		"http://2130706433:1/":              "http://127.0.0.1:1/",
		"http://017700000001:1":             "http://127.0.0.1:1/",
		"http://127.0.0.1.:1":               "http://127.0.0.1:1/",
		"http://1.2.3.0x/":                  "http://1.2.3.0/",
		"http://%31%32%37.1/":               "http://127.0.0.1/",
		"http://１２７.１/":                     "http://127.0.0.1/",
		"http://ex%41mple.invalid/":         "http://example.invalid/",
		"  http://nope.invalid/\x00 ":       "http://nope.invalid/",
		"http://nope.invalid./":             "http://nope.invalid./",
		"ht\ttp://nope.in\nvalid/\r":        "http://nope.invalid/",
		"http://h:/":                        "http://h/",
		"http://127.0.0.1:01/":              "http://127.0.0.1:1/",
		"http://h:000/":                     "http://h:0/",
		"http://bücher.invalid/":            "http://xn--bcher-kva.invalid/",
		"http://ß.invalid":                  "http://xn--zca.invalid/",
		"http://ﬀ.invalid/":                 "http://ff.invalid/",
		"http://a\u00adb.invalid/":          "http://ab.invalid/",
		"http://a。b/":                       "http://a.b/",
		"http://a_b.invalid/":               "http://a_b.invalid/",
		"http://a..b/":                      "http://a..b/",
		"http://-a.invalid/":                "http://-a.invalid/",
		"http://a:b@c:d@nope.invalid/":      "http://nope.invalid/",
		"http://h/a b\"<>|^`{}\\x/%zz%2e":   "http://h/a%20b%22%3C%3E|^%60%7B%7D/x/%zz%2e",
		"http://h/[é]?q='\"<> |^`{}é#x y`é": "http://h/[%C3%A9]?q=%27%22%3C%3E%20|^`{}%C3%A9#x%20y%60%C3%A9",
		"http://h//dbl//x":                  "http://h//dbl//x",
		"http://h/a/%2e%2e/b/%2E/c/..":      "http://h/b/",
		"http://h/../../x/.":                "http://h/x/",
		"http://h/..;/...":                  "http://h/..;/...",
		"http://h?q":                        "http://h/?q",
		"http://h/a?":                       "http://h/a?",
		"http://h#f?g":                      "http://h/#f?g",
		"http://h/\tt\n":                    "http://h/t",
		"http://h/a%00b":                    "http://h/a%00b",
		"http://h/~!$&()*+,;=:@":            "http://h/~!$&()*+,;=:@",
	} {
		u, err := Parse(text)
		if err != nil {
			t.Errorf("Parse(%q): %v", text, err)
		} else if u.String() != want {
			t.Errorf("Parse(%q) = %s, want %s", text, u, want)
		}
	}
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]error{
		"":                         ErrRelative,
		"nope":                     ErrRelative,
		"//x":                      ErrRelative,
		"://x":                     ErrRelative,
		"1http://x":                ErrRelative,
		"ht tp://x":                ErrRelative,
		"http:":                    ErrEmptyHost,
		"http:///":                 ErrEmptyHost,
		"http://@/":                ErrEmptyHost,
		"http://user@/":            ErrEmptyHost,
		"http://:80/":              ErrEmptyHost,
		"ftp://":                   ErrEmptyHost,
		"http://h:99999/":          ErrPort,
		"http://h:65536":           ErrPort,
		"http://h:x/":              ErrPort,
		"http://h:-1/":             ErrPort,
		"http://[::1":              ErrIPv6,
		"http://[::1%25lo]:1/":     ErrIPv6,
		"http://[127.0.0.1]/":      ErrIPv6,
		"http://[]/":               ErrIPv6,
		"http://1.2.3.4.5/":        ErrIPv4,
		"http://256.256.256.256/":  ErrIPv4,
		"http://1.2.3.256/":        ErrIPv4,
		"http://4294967296/":       ErrIPv4,
		"http://1..2/":             ErrIPv4,
		"http://09.1/":             ErrIPv4,
		"http://0x1_0/":            nil,
		"http://a b/":              ErrDomain,
		"http://a%00b/":            ErrDomain,
		"http://a%2fb/":            ErrDomain,
		"http://%zz/":              ErrDomain,
		"http://%ff/":              ErrDomain,
		"http://xn--/":             ErrDomain,
		"http://xn--a/":            ErrDomain,
		"http://\u00ad/":           ErrDomain,
		"http://a:b:c/":            ErrDomain,
		"http://x]/":               ErrDomain,
		"http://evil.com\u2100.x/": ErrDomain,
	} {
		if _, err := Parse(text); !errors.Is(err, want) {
			t.Errorf("Parse(%q): %v, want %v", text, err, want)
		}
	}
}

func TestOtherSchemes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"foo:bar": "foo", "MAILTO:x": "mailto", "file:///x": "file", "a+-.1:": "a+-.1"} {
		if u, err := Parse(text); err != nil || u.Scheme != want {
			t.Errorf("Parse(%q) = %+v, %v", text, u, err)
		}
	}
}

func TestUser(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]User{
		"http://us%40r:p%3aw@h/": {"us@r", "p:w"},
		"http://u@h/":            {"u", ""},
		"http://:p@h/":           {"", "p"},
		"http://a:b@c:d@h/":      {"a", "b@c:d"},
	} {
		u, err := Parse(text)
		if err != nil || u.User == nil || *u.User != want {
			t.Errorf("Parse(%q): %+v, %v, want %+v", text, u.User, err, want)
		}
		if strings.Contains(u.String(), "@") {
			t.Errorf("%s tells who asks", u)
		}
	}
	for _, text := range []string{"http://h/", "http://@h/", "http://:@h/"} {
		if u, err := Parse(text); err != nil || u.User != nil {
			t.Errorf("Parse(%q): %+v, %v", text, u.User, err)
		}
	}
}

func TestJoin(t *testing.T) {
	t.Parallel()
	base, err := Parse("http://u:p@h:8080/a/b?q#f")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"":                  "http://h:8080/a/b?q",
		"#x":                "http://h:8080/a/b?q#x",
		"?x":                "http://h:8080/a/b?x",
		"?":                 "http://h:8080/a/b?",
		"c":                 "http://h:8080/a/c",
		"../c/./d":          "http://h:8080/c/d",
		"/c":                "http://h:8080/c",
		`\c`:                "http://h:8080/c",
		"//g/x":             "http://g/x",
		`\/g/x`:             "http://g/x",
		"///g/x":            "http://g/x",
		"https://g":         "https://g/",
		"https:g":           "https://g/",
		"http:c":            "http://h:8080/a/c",
		"http:/c":           "http://h:8080/c",
		"http://u:p@g/":     "http://g/",
		" /c\t":             "http://h:8080/c",
		"..":                "http://h:8080/",
		"c:d":               "",
		"/\u00e9 \u00fc?|x": "http://h:8080/%C3%A9%20%C3%BC?|x",
	} {
		u, err := base.Join(text)
		switch {
		case err != nil:
			t.Errorf("Join(%q): %v", text, err)
		case want == "" && u.Scheme != "c":
			t.Errorf("Join(%q): scheme %s", text, u.Scheme)
		case want != "" && u.String() != want:
			t.Errorf("Join(%q) = %s, want %s", text, u, want)
		}
	}
	for text, want := range map[string]error{"http://[": ErrIPv6, "//h:99999/": ErrPort, "http://": ErrEmptyHost} {
		if _, err := base.Join(text); !errors.Is(err, want) {
			t.Errorf("Join(%q): %v, want %v", text, err, want)
		}
	}
	if u, _ := base.Join("c"); u.User != nil {
		t.Error("who asks is passed on")
	}
}

// TestOneSpelling asserts that what Parse writes it reads as the same.
func TestOneSpelling(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := "http:" + rapid.StringOf(rapid.SampledFrom([]rune("/\\.%2eEfF:@?#[]xn- \t0178é"))).Draw(t, "rest")
		checkOnce(t.Fatalf, text)
	})
}

func checkOnce(fatalf func(string, ...any), text string) {
	u, err := Parse(text)
	if err != nil || u.Path == "" {
		return
	}
	again, err := Parse(u.String())
	if err != nil {
		fatalf("Parse(%q) = %s, which does not parse: %v", text, u, err)
	}
	u.User = nil
	if *again != *u {
		fatalf("Parse(%q) = %+v, and again %+v", text, u, again)
	}
	if _, _, err := net.SplitHostPort(u.Host.String() + ":" + u.PortNumber()); err != nil {
		fatalf("Parse(%q): %v", text, err)
	}
	if _, err := netip.ParseAddr(u.Host.Name); err == nil {
		fatalf("Parse(%q): the name %s is an address", text, u.Host.Name)
	}
	for _, c := range []byte(u.String()) {
		if c <= ' ' || c >= 0x7f {
			fatalf("Parse(%q) has the byte %#x", text, c)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"http://h/", `https:\\u:p@0x7f.1:80/../%2e?q#f`, "http://xn--zca/", "http://[::1]:1", "//x", "http://bücher。x"} {
		f.Add(text, text)
	}
	f.Fuzz(func(t *testing.T, text, location string) {
		checkOnce(t.Fatalf, text)
		if u, err := Parse(text); err == nil && u.Path != "" {
			if joined, err := u.Join(location); err == nil && joined.Path != "" {
				checkOnce(t.Fatalf, joined.String())
			}
		}
	})
}

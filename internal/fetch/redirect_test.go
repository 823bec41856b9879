package fetch

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
)

// echo answers with what it was asked for, and sends elsewhere where the path says
// so: /302/to/x.
func echo(w http.ResponseWriter, r *http.Request) {
	var status int
	if n, _ := fmt.Sscanf(r.URL.Path, "/%d/", &status); n == 1 && r.URL.Query().Has("to") {
		w.Header().Set("Location", r.URL.Query().Get("to"))
		w.WriteHeader(status)
		return
	}
	body, _ := io.ReadAll(r.Body)
	fmt.Fprintf(w, "%s %s %s", r.Method, r.URL, body)
	for _, name := range []string{
		"Authorization", "Cookie", "Proxy-Authorization", "Content-Type", "Content-Encoding", "Content-Language", "Referer", "X-Secret", "X-Other",
	} {
		for _, value := range r.Header[name] {
			fmt.Fprintf(w, "\n%s: %s", name, value)
		}
	}
	if !strings.HasPrefix(r.Host, "127.0.0.1") {
		fmt.Fprintf(w, "\nHost: %s", r.Host)
	}
}

func TestMethodOfRedirect(t *testing.T) {
	t.Parallel()
	origin := serve(t, echo)
	body := protocol.Bytes("abc")
	for _, test := range []struct {
		status int
		method string
		want   string
	}{
		{301, "POST", "GET /x "},
		{302, "POST", "GET /x "},
		{303, "POST", "GET /x "},
		{301, "PUT", "PUT /x abc"},
		{302, "PUT", "PUT /x abc"},
		{303, "PUT", "GET /x "},
		{302, "get", "get /x abc"},
		{303, "get", "GET /x "},
		{307, "POST", "POST /x abc"},
		{308, "POST", "POST /x abc"},
		{300, "GET", ""},
		{304, "GET", ""},
		{305, "GET", ""},
	} {
		p := with(get(fmt.Sprintf("%s/%d/?to=/x", origin.URL, test.status)),
			"Content-Type", "t", "Content-Encoding", "e", "Content-Language", "l", "Referer", "mine")
		p.Method, p.BodyBase64 = test.method, &body
		result := newClient(t, Config{}).must(p)
		got, rest, _ := strings.Cut(string(result.BodyBase64), "\n")
		if got != test.want {
			t.Errorf("%d %s: got %q, want %q", test.status, test.method, got, test.want)
		}
		if test.want == "" {
			if int(result.Status) != test.status {
				t.Errorf("%d: got %d", test.status, result.Status)
			}
			continue
		}
		want := "Content-Type: t\nContent-Encoding: e\nContent-Language: l"
		if !strings.HasSuffix(test.want, "abc") {
			want = "Content-Language: l"
		}
		if want += "\nReferer: " + p.URL; rest != want {
			t.Errorf("%d %s: got\n%s\nwant\n%s", test.status, test.method, rest, want)
		}
	}
}

// TestForeignRedirect asserts that another origin gets nothing that was for the
// one before, least of all what the executor knows.
func TestForeignRedirect(t *testing.T) {
	t.Parallel()
	here, there := serve(t, echo), serve(t, echo)
	c := newClient(t, Config{LookupEnv: environment{"TOKEN": "s3cret"}.lookup})
	variable := "TOKEN"
	of := func(to string) *protocol.HTTPRequestParams {
		p := with(get(here.URL+"/302/?to="+url.QueryEscape(to)+"#f"), "Authorization", "a", "Cookie", "c", "Proxy-Authorization", "p", "X-Other", "o", "Host", "other")
		p.Headers = append(p.Headers, protocol.HTTPHeaderParam{Name: "X-Secret", ValueEnvVar: &variable})
		return p
	}
	p := of("/x#g")
	want := "GET /x \nAuthorization: a\nCookie: c\nProxy-Authorization: p\nReferer: " + strings.TrimSuffix(p.URL, "#f") + "\nX-Secret: s3cret\nX-Other: o\nHost: other"
	if got := string(c.must(p).BodyBase64); got != want {
		t.Errorf("the same origin got\n%s\nwant\n%s", got, want)
	}
	want = "GET /x \nReferer: " + here.URL + "/\nX-Other: o"
	if got := string(c.must(of(strings.Replace(there.URL, "http://", "http://u:p@", 1) + "/x")).BodyBase64); got != want {
		t.Errorf("another origin got\n%s\nwant\n%s", got, want)
	}
	// There and back: what has been dropped stays so.
	back := there.URL + "/302/?to=" + url.QueryEscape(here.URL+"/x")
	want = "GET /x \nReferer: " + there.URL + "/\nX-Other: o"
	if got := string(c.must(of(back)).BodyBase64); got != want {
		t.Errorf("after a detour the origin got\n%s\nwant\n%s", got, want)
	}
}

func TestLocations(t *testing.T) {
	t.Parallel()
	origin := serve(t, echo)
	for location, want := range map[string]string{
		"../a/./b":            "GET /a/b ",
		"?":                   "GET /302/? ",
		"//[":                 "",
		"http://h:99999/":     "",
		"http://":             "",
		"/\u00e9":             "", // as the dialect has it
		"HTTP:x":              "GET /302/x ",
		origin.URL + "/x?to=": "GET /x?to= ",
	} {
		result := newClient(t, Config{}).must(get(origin.URL + "/302/?to=" + url.QueryEscape(location)))
		got, _, _ := strings.Cut(string(result.BodyBase64), "\n")
		if got != want || (want == "") != (result.Status == 302) {
			t.Errorf("%s: got %d %q, want %q", location, result.Status, got, want)
		}
	}
	_, err := newClient(t, Config{}).do(get(origin.URL + "/302/?to=ftp://h"))
	wantError(t, err, protocol.CodeInternal, "http/request failed: redirect target uses unsupported URL scheme: ftp")
}

func TestRedirectPolicy(t *testing.T) {
	t.Parallel()
	origin := serve(t, echo)
	p := get(origin.URL + "/302/?to=/x")
	p.RedirectPolicy = protocol.RedirectStop
	if result := newClient(t, Config{}).must(p); result.Status != 302 || header(result, "location")[0] != "/x" {
		t.Errorf("got %+v", result)
	}
}

func TestTooManyRedirects(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ redirects, asked int }{{limits.HTTPRedirects, 11}, {limits.HTTPRedirects + 1, 11}} {
		asked := 0
		origin := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if asked++; asked <= test.redirects {
				http.Redirect(w, r, "/", http.StatusFound)
			}
		})
		_, err := newClient(t, Config{}).do(get(origin.URL))
		if test.redirects > limits.HTTPRedirects {
			wantError(t, err, protocol.CodeInternal, "http/request failed: too many redirects")
		} else if err != nil {
			t.Error(err)
		}
		if asked != test.asked {
			t.Errorf("%d redirects: asked %d times, want %d", test.redirects, asked, test.asked)
		}
	}
}

// TestReferer asserts that what was asked for by TLS is not told to somebody who is
// asked without.
func TestReferer(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ from, to, want string }{
		{"http://a/p?q#f", "http://a/x", "http://a/p?q"},
		{"http://a/p", "http://a:80/x", "http://a/p"},
		{"http://a/p", "https://a/x", "http://a/"},
		{"https://u:p@a:8443/p", "https://a/x", "https://a:8443/"},
		{"https://a/p", "http://a/x", ""},
	} {
		from, _ := checkURL(test.from)
		to, _ := checkURL(test.to)
		r := &request{url: from, header: http.Header{"referer": {"mine"}}}
		sent := map[string][]string(r.next(302, to).header)
		if got := strings.Join(sent["referer"], ","); got != test.want {
			t.Errorf("from %s to %s: %q, want %q", test.from, test.to, got, test.want)
		}
	}
}

package fetch

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/airlock-exec/airlock/protocol"
)

// proxy is a forwarding proxy that knows all hosts: each is the same origin.
type proxy struct {
	URL    string
	origin string // host:port

	mu   sync.Mutex
	seen []string // request lines and authorization, guarded by mu
}

func newProxy(t *testing.T, origin string) *proxy {
	t.Helper()
	p := &proxy{origin: origin}
	p.URL = serve(t, p.serve).URL
	return p
}

func (p *proxy) serve(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.seen = append(p.seen, strings.TrimSpace(fmt.Sprintf("%s %s %s%s", r.Method, r.RequestURI, r.Header.Get("Proxy-Authorization"), r.Header.Get("User-Agent"))))
	p.mu.Unlock()
	if r.Method != http.MethodConnect {
		fmt.Fprintf(w, "proxied %s %s", r.Host, r.URL)
		return
	}
	if strings.HasPrefix(r.Host, "refused.") {
		http.Error(w, "no", http.StatusForbidden)
		return
	}
	to, err := net.Dial("tcp", p.origin)
	if err != nil {
		return
	}
	defer to.Close()
	from, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer from.Close()
	_, _ = io.WriteString(from, "HTTP/1.1 200 OK\r\n\r\n")
	both(from, to)
}

// both joins two connections until one ends.
func both(a, b net.Conn) {
	var all sync.WaitGroup
	all.Go(func() { _, _ = io.Copy(a, b); a.Close() })
	all.Go(func() { _, _ = io.Copy(b, a); b.Close() })
	all.Wait()
}

// lines returns what the proxy has seen.
func (p *proxy) lines() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.seen, "\n")
}

func TestProxy(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, url string
		env       environment // PROXY stands for the proxy's address
		want      string      // what the proxy sees
	}{
		{"http", "http://a.invalid/x|?q", environment{"HTTP_PROXY": "http://PROXY"}, "GET http://a.invalid/x|?q"},
		{"lower case", "http://a.invalid:81", environment{"http_proxy": "PROXY"}, "GET http://a.invalid:81/"},
		{"all", "http://a.invalid", environment{"ALL_PROXY": "http://PROXY"}, "GET http://a.invalid/"},
		{"user", "http://a.invalid", environment{"all_proxy": "http://u:p@PROXY"}, "GET http://a.invalid/ Basic dTpw"},
		{"plain first", "http://a.invalid", environment{"HTTP_PROXY": "http://PROXY", "ALL_PROXY": "http://127.0.0.1:1"}, "GET http://a.invalid/"},
		{"https", "https://refused.invalid", environment{"HTTPS_PROXY": "http://u:p@PROXY"}, "CONNECT refused.invalid:443 Basic dTpw"},
		{"not for https", "https://a.invalid", environment{"HTTP_PROXY": "http://PROXY"}, ""},
		{"no proxy", "http://a.invalid", environment{"HTTP_PROXY": "http://PROXY", "NO_PROXY": "b.invalid,.invalid"}, ""},
		{"no proxy in lower case", "http://10.1.2.3:1", environment{"HTTP_PROXY": "http://PROXY", "no_proxy": "10.0.0.0/8"}, ""},
		{"unusable", "http://a.invalid", environment{"HTTP_PROXY": "::::"}, ""},
		{"in a CGI program", "http://a.invalid", environment{"HTTP_PROXY": "http://PROXY", "REQUEST_METHOD": "GET"}, ""},
		{"loopback", "http://127.0.0.1:1", environment{"HTTP_PROXY": "http://PROXY"}, ""},
		{"loopback as a number", "http://2130706434:1", environment{"HTTP_PROXY": "http://PROXY"}, ""},
		{"localhost", "http://localhost.:1", environment{"HTTP_PROXY": "http://PROXY"}, ""},
		{"below localhost", "http://x.localhost:1", environment{"HTTP_PROXY": "http://PROXY"}, ""},
		{"loopback of IPv6", "http://[::1]:1", environment{"HTTP_PROXY": "http://PROXY"}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			proxy := newProxy(t, "")
			for name, value := range test.env {
				test.env[name] = strings.ReplaceAll(value, "PROXY", strings.TrimPrefix(proxy.URL, "http://"))
			}
			p := get(test.url)
			p.TimeoutMs = new(uint64(5000))
			_, err := newClient(t, Config{LookupEnv: test.env.lookup}).do(p)
			if got := proxy.lines(); got != test.want {
				t.Errorf("the proxy saw %q, want %q (%v)", got, test.want, err)
			}
			if strings.HasPrefix(test.want, "CONNECT") {
				wantError(t, err, protocol.CodeInternal, "http/request failed: error sending request for url (https://refused.invalid/): Forbidden")
			}
		})
	}
}

// TestProxyOfRedirect asserts that each hop is decided on anew.
func TestProxyOfRedirect(t *testing.T) {
	t.Parallel()
	proxy := newProxy(t, "")
	origin := serve(t, echo)
	c := newClient(t, Config{LookupEnv: environment{"HTTP_PROXY": proxy.URL}.lookup})
	result := c.must(get(origin.URL + "/302/?to=http://a.invalid/"))
	if string(result.BodyBase64) != "proxied a.invalid http://a.invalid/" {
		t.Errorf("got %s", result.BodyBase64)
	}
}

// TestDeniedByProxy asserts that what goes through a proxy is judged by its name.
func TestDeniedByProxy(t *testing.T) {
	t.Parallel()
	proxy := newProxy(t, "")
	c := newClient(t, Config{LookupEnv: environment{"HTTP_PROXY": proxy.URL}.lookup, Deny: []string{"*.invalid", "10.0.0.0/8", "127.0.0.0/8"}})
	for _, url := range []string{"http://a.invalid", "http://10.1.2.3"} {
		_, err := c.do(get(url))
		wantError(t, err, protocol.CodeInternal, "http/request failed: "+strings.TrimPrefix(url, "http://")+" must not be reached: the executor's --http-deny has ")
	}
	if proxy.lines() != "" {
		t.Errorf("the proxy saw %s", proxy.lines())
	}
	// The proxy itself is the operator's choice.
	c.must(get("http://allowed.example"))
}

// TestSOCKS speaks with a SOCKS5 proxy.
func TestSOCKS(t *testing.T) {
	t.Parallel()
	origin := serve(t, echo)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	t.Cleanup(all.Wait)
	t.Cleanup(func() { _ = listener.Close() })
	asked := make(chan string, 1)
	all.Go(func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		asked <- socks(conn)
		to, err := net.Dial("tcp", strings.TrimPrefix(origin.URL, "http://"))
		if err != nil {
			return
		}
		both(conn, to)
	})
	c := newClient(t, Config{LookupEnv: environment{"ALL_PROXY": "socks5://" + listener.Addr().String()}.lookup})
	if result := c.must(get("http://a.invalid:81/x")); !strings.HasPrefix(string(result.BodyBase64), "GET /x") {
		t.Errorf("got %s", result.BodyBase64)
	}
	if host := <-asked; host != "a.invalid" {
		t.Errorf("the proxy was asked for %q", host)
	}
}

// socks answers a client without asking who it is, and returns the name that it
// wants to reach.
func socks(conn net.Conn) string {
	in := bufio.NewReader(conn)
	greeting := make([]byte, 2)
	_, _ = io.ReadFull(in, greeting)
	_, _ = in.Discard(int(greeting[1]))
	_, _ = conn.Write([]byte{5, 0})
	head := make([]byte, 5)
	_, _ = io.ReadFull(in, head)
	name := make([]byte, int(head[4])+2)
	_, _ = io.ReadFull(in, name)
	_, _ = conn.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
	return string(name[:len(name)-2])
}

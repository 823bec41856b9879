package fetch

import (
	"net"
	"strings"
	"testing"

	"github.com/airlock-exec/airlock/protocol"
)

// TestDenied asserts that nothing gets to what is denied: by address, by a name
// that means it, by a redirect.
func TestDenied(t *testing.T) {
	t.Parallel()
	origin := serve(t, echo)
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(origin.URL, "http://"))
	for _, host := range []string{"127.0.0.1", "localhost", "0x7f.1", "2130706433", "[::ffff:127.0.0.1]", "0.0.0.0", "[::1]", "[::]"} {
		c := newClient(t, Config{Deny: []string{"127.0.0.0/8", "::1"}})
		_, err := c.do(get("http://" + host + ":" + port))
		wantError(t, err, protocol.CodeInternal, "http/request failed: ")
		if err != nil && !strings.Contains(err.Error(), "must not be reached: the executor's --http-deny has ") {
			t.Errorf("%s: %v", host, err)
		}
	}
	c := newClient(t, Config{Deny: []string{"169.254.169.254", "metadata.invalid"}})
	for _, target := range []string{"169.254.169.254", "metadata.invalid"} {
		_, err := c.do(get(origin.URL + "/302/?to=http://" + target + "/latest"))
		wantError(t, err, protocol.CodeInternal, "http/request failed: "+target+" must not be reached: the executor's --http-deny has "+target)
	}
}

// TestDeniedName asserts that a denied name is not even looked up.
func TestDeniedName(t *testing.T) {
	t.Parallel()
	origin := serve(t, echo)
	c := newClient(t, Config{Deny: []string{"localhost"}})
	_, err := c.do(get(strings.Replace(origin.URL, "127.0.0.1", "LOCALHOST.", 1)))
	wantError(t, err, protocol.CodeInternal, "http/request failed: localhost. must not be reached: the executor's --http-deny has localhost")
	c.must(get(origin.URL + "/x"))
}

func TestBadRule(t *testing.T) {
	t.Parallel()
	_, err := New(Config{Deny: []string{"10.0.0.0/8", "10.0.0.0/99"}})
	if err == nil || !strings.Contains(err.Error(), `--http-deny "10.0.0.0/99"`) {
		t.Errorf("got %v", err)
	}
}

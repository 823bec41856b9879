package conformance

import (
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestTLS: wss means TLS, with a certificate that is checked, and the token goes
// through it.
func TestTLS(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" || r.TLS == nil {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	defer server.Close()
	target, err := parseTarget("wss"+strings.TrimPrefix(server.URL, "https"), "secret")
	if err != nil {
		t.Fatal(err)
	}
	ask := httpRequest{method: "GET", target: "/"}
	if _, err := target.exchange(t.Context(), ask); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a certificate of nobody: %v", err)
	}
	target.tls.RootCAs = x509.NewCertPool()
	target.tls.RootCAs.AddCert(server.Certificate())
	answer, err := target.exchange(t.Context(), ask)
	if err != nil || len(match(map[string]any{"$open": map[string]any{"status": number("200")}}, answer, variables{})) > 0 {
		t.Errorf("%s, error %v", show(answer), err)
	}
}

func TestParseTarget(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"ws://127.0.0.1:4000": "127.0.0.1:4000",
		"ws://host/":          "host:80",
		"wss://host":          "host:443",
		"ws://[::1]:5":        "[::1]:5",
	} {
		target, err := parseTarget(url, "")
		if err != nil || target.address != want || (target.tls != nil) != strings.HasPrefix(url, "wss") {
			t.Errorf("%s: %+v, error %v", url, target, err)
		}
	}
	for _, url := range []string{"", "ws://", "http://h:1", "ws://user:secret@h:1", "ws://h:1/path", "ws://h:1?secret", "ws://h:1#f", "ws://h:x", ":"} {
		if target, err := parseTarget(url, ""); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %+v, error %v", url, target, err)
		}
	}
	if _, err := parseTarget("ws://h:1", "a\r\nHost: b"); err == nil {
		t.Error("a token of several lines")
	}
}

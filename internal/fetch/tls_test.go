package fetch

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
)

// authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

var newAuthority = sync.OnceValue(func() *authority {
	a := &authority{cert: &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}}
	a.key, _ = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	der, _ := x509.CreateCertificate(rand.Reader, a.cert, a.cert, &a.key.PublicKey, a.key)
	a.cert, _ = x509.ParseCertificate(der)
	return a
})

// leaf returns a certificate for this machine.
func (a *authority) leaf() tls.Certificate {
	key, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	der, _ := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(2), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv4(192, 0, 2, 1)},
	}, a.cert, &key.PublicKey, a.key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// pem returns the authority's certificate, in a block of a kind.
func (a *authority) pem(kind string, more ...byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: append(slices.Clip(a.cert.Raw), more...)}))
}

// serveTLS starts an origin that the authority has signed.
func serveTLS(t *testing.T, http2 bool, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	origin := httptest.NewUnstartedServer(handler)
	origin.EnableHTTP2 = http2
	origin.TLS = &tls.Config{Certificates: []tls.Certificate{newAuthority().leaf()}}
	origin.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	origin.StartTLS()
	t.Cleanup(origin.Close)
	return origin
}

// file writes a file and returns its path.
func file(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func trusting(t *testing.T) *client {
	return newClient(t, Config{LookupEnv: environment{"CODEX_CA_CERTIFICATE": file(t, newAuthority().pem("CERTIFICATE"))}.lookup})
}

func TestTLS(t *testing.T) {
	t.Parallel()
	origin := serveTLS(t, false, echo)
	a := newAuthority()
	good := file(t, "comment\n"+string(pem.EncodeToMemory(&pem.Block{Type: "X509 CRL", Bytes: []byte("x")}))+a.pem("CERTIFICATE"))
	for name, env := range map[string]environment{
		"CODEX_CA_CERTIFICATE": {"CODEX_CA_CERTIFICATE": good, "SSL_CERT_FILE": "/nowhere"},
		"SSL_CERT_FILE":        {"CODEX_CA_CERTIFICATE": "", "SSL_CERT_FILE": good},
		"trusted":              {"SSL_CERT_FILE": file(t, a.pem("TRUSTED CERTIFICATE", 0x30, 0x00))},
	} {
		if result := newClient(t, Config{LookupEnv: env.lookup}).must(get(origin.URL + "/x")); !strings.HasPrefix(string(result.BodyBase64), "GET /x") {
			t.Errorf("%s: got %s", name, result.BodyBase64)
		}
	}
	start := "http/request failed: error sending request for url (" + origin.URL + "/): "
	_, err := newClient(t, Config{LookupEnv: environment{"REQUESTS_CA_BUNDLE": good}.lookup}).do(get(origin.URL))
	wantError(t, err, protocol.CodeInternal, start+"the certificate is signed by an unknown authority; if it is to be trusted")
	_, err = trusting(t).do(get(strings.Replace(origin.URL, "127.0.0.1", "localhost", 1)))
	wantError(t, err, protocol.CodeInternal, strings.Replace(start, "127.0.0.1", "localhost", 1)+"x509: ")
	_, err = trusting(t).do(get(strings.Replace(serve(t, echo).URL, "http:", "https:", 1)))
	if err == nil || !strings.Contains(err.Error(), "the server does not speak TLS") {
		t.Errorf("got %v", err)
	}
}

func TestBadRoots(t *testing.T) {
	t.Parallel()
	const tail = ". If you set CODEX_CA_CERTIFICATE or SSL_CERT_FILE, ensure it points to a PEM file containing one or more CERTIFICATE blocks, or unset it to use system roots."
	missing, empty := filepath.Join(t.TempDir(), "none"), file(t, "junk")
	bad := file(t, newAuthority().pem("CERTIFICATE")+string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("x")})))
	large := file(t, strings.Repeat("x", limits.CertificateFileBytes+1))
	for path, want := range map[string][2]string{
		missing: {"Failed to read CA certificate file " + missing + " selected by SSL_CERT_FILE: No such file or directory (os error 2)", tail},
		empty:   {"Failed to load CA certificates from " + empty + " selected by SSL_CERT_FILE: no certificates found in PEM file", tail},
		bad:     {"Failed to parse certificate #2 from " + bad + " selected by SSL_CERT_FILE: builder error", tail},
		large:   {"Failed to read CA certificate file " + large + " selected by SSL_CERT_FILE: the file is too large", tail},
	} {
		c := newClient(t, Config{LookupEnv: environment{"SSL_CERT_FILE": path}.lookup})
		_, err := c.do(get("http://127.0.0.1:1"))
		wantError(t, err, protocol.CodeInternal, "http/request failed: "+want[0])
		if err != nil && !strings.HasSuffix(err.Error(), want[1]) {
			t.Errorf("%v does not tell how to mend it", err)
		}
	}
}

// TestMended asserts that what is wrong with the file is not remembered.
func TestMended(t *testing.T) {
	t.Parallel()
	path := file(t, "junk")
	origin := serveTLS(t, false, echo)
	c := newClient(t, Config{LookupEnv: environment{"SSL_CERT_FILE": path}.lookup})
	if _, err := c.do(get(origin.URL)); err == nil {
		t.Fatal("junk was taken")
	}
	if err := os.WriteFile(path, []byte(newAuthority().pem("CERTIFICATE")), 0o600); err != nil {
		t.Fatal(err)
	}
	c.must(get(origin.URL))
}

func TestBundle(t *testing.T) {
	t.Parallel()
	if pool := bundled(); pool.Equal(x509.NewCertPool()) {
		t.Error("the bundle is empty")
	}
}

func FuzzFirstElement(f *testing.F) {
	f.Add([]byte{0x30, 0x82, 0x00, 0x01, 0xff, 0x30})
	f.Add([]byte{0x30})
	f.Fuzz(func(t *testing.T, der []byte) {
		if got := firstElement(der); len(got) > len(der) {
			t.Fatalf("%d bytes of %d", len(got), len(der))
		}
	})
}

func TestHTTP2(t *testing.T) {
	t.Parallel()
	const size = 3 << 20
	origin := serveTLS(t, true, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/large" {
			_, _ = w.Write(make([]byte, size))
			return
		}
		w.Header().Set("X-A", "1")
		fmt.Fprintf(w, "%s %s %q %q", r.Proto, r.URL, r.Header["X-Q"], r.Header["User-Agent"])
	})
	c := trusting(t)
	result := c.must(with(get(origin.URL+"/x|y"), "X-Q", "1", "x-q", "2", "Connection", "close", "Host", "other"))
	if string(result.BodyBase64) != `HTTP/2.0 /x%7Cy ["1" "2"] []` || header(result, "x-a")[0] != "1" {
		t.Errorf("got %s %+v", result.BodyBase64, result.Headers)
	}
	c.must(stream(origin.URL+"/large", "s"))
	if text, err := c.body("s"); len(text) != size || err != nil {
		t.Errorf("got %d bytes, %v", len(text), err)
	}
}

// TestHandshakeEnds asserts that a request that is given up, or whose client goes,
// does not leave a socket behind on which nobody speaks TLS.
func TestHandshakeEnds(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*client, context.CancelFunc){
		"gone":     func(c *client, _ context.CancelFunc) { c.Close() },
		"given up": func(_ *client, giveUp context.CancelFunc) { giveUp() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer listener.Close()
			c := newClient(t, Config{})
			e, err := c.Begin(get("https://" + listener.Addr().String()))
			if err != nil {
				t.Fatal(err)
			}
			ctx, giveUp := context.WithCancel(t.Context())
			defer giveUp()
			var call sync.WaitGroup
			call.Go(func() {
				_, err := e.Do(ctx)
				wantError(t, err, protocol.CodeInternal, "http/request failed: error sending request for url")
				e.Sent()
			})
			conn, err := listener.Accept()
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_, _ = conn.Read(make([]byte, 1))
			end(c, giveUp)
			call.Wait()
			_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
			if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
				t.Error("the socket is still open")
			}
		})
	}
}

package client_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/airlock-exec/airlock/client"
	"github.com/airlock-exec/airlock/protocol"
)

const largeBody = 40 << 20

// origin answers requests.
func origin(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/large":
			for range largeBody >> 20 {
				_, _ = w.Write(make([]byte, 1<<20))
			}
		case "/elsewhere":
			http.Redirect(w, r, "/", http.StatusFound)
		default:
			body, _ := io.ReadAll(r.Body)
			w.WriteHeader(http.StatusTeapot)
			_, _ = fmt.Fprintf(w, "%s %s %s", r.Method, r.Header.Get("X-Test"), body)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// httpTest makes requests that any executor can make.
func httpTest(t *testing.T, e client.Executor, url string) {
	from := &http.Client{Transport: e.HTTP()}
	ask := func(method, path, body string) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, url+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Test", "yes")
		response, err := from.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if err != nil {
			t.Error(err)
		}
		return response.StatusCode, string(text)
	}
	for _, test := range []struct{ method, path, body, want string }{
		{"POST", "/", "hello", "POST yes hello"},
		{"GET", "/elsewhere", "", "GET yes "},
		{"HEAD", "/", "", ""},
	} {
		if code, text := ask(test.method, test.path, test.body); code != http.StatusTeapot || text != test.want {
			t.Errorf("%s %s: %d, %q", test.method, test.path, code, text)
		}
	}
	if code, text := ask("GET", "/large", ""); code != http.StatusOK || len(text) != largeBody {
		t.Errorf("%d, %d bytes", code, len(text))
	}
	result, err := e.HTTP().Do(t.Context(), protocol.HTTPRequestParams{Method: "PUT", URL: url, BodyBase64: new(protocol.Bytes("x"))})
	if err != nil || !bytes.Equal(result.BodyBase64, []byte("PUT  x")) {
		t.Errorf("%+v, error %v", result, err)
	}
	_, err = from.Get("http://127.0.0.1:1/")
	if err == nil || !strings.Contains(err.Error(), "http/request failed: error sending request for url (http://127.0.0.1:1/)") {
		t.Errorf("where nobody is: %v", err)
	}
}

func TestHTTP(t *testing.T) {
	url := origin(t)
	executors(t, func(t *testing.T, e client.Executor) { httpTest(t, e, url) })
}

// TestPeerHTTP: the same, with the executor of Codex.
func TestPeerHTTP(t *testing.T) {
	httpTest(t, dialPeer(t, peer(t), client.Options{}), origin(t))
}

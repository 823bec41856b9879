package fetch

import (
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/airlock-exec/airlock/protocol"
)

func TestBuffered(t *testing.T) {
	t.Parallel()
	origin := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Add("X-A", "1")
		w.Header().Add("X-A", "2")
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprintf(w, "%s %s %s", r.Method, r.URL, body)
	})
	c := newClient(t, Config{})
	body := protocol.Bytes("abc")
	result := c.must(&protocol.HTTPRequestParams{Method: "POST", URL: origin.URL + "/p?q", BodyBase64: &body})
	if result.Status != 418 || string(result.BodyBase64) != "POST /p?q abc" {
		t.Errorf("got %d %s", result.Status, result.BodyBase64)
	}
	if values := header(result, "x-a"); len(values) != 2 || values[0] != "1" || values[1] != "2" {
		t.Errorf("got %q", values)
	}
}

func TestStreamed(t *testing.T) {
	t.Parallel()
	origin := serve(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "hello")
	})
	c := newClient(t, Config{})
	if result := c.must(stream(origin.URL, "s")); len(result.BodyBase64) > 0 || result.Status != 200 {
		t.Errorf("got %+v", result)
	}
	if text, err := c.body("s"); text != "hello" || err != nil {
		t.Errorf("got %q, %v", text, err)
	}
}

package main

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

func TestHTTPStreamFloor(t *testing.T) {
	size := quick
	size.bodyMiB = 2
	if s, err := bareHTTPStream(t.Context(), size); err != nil || s["rate"] <= 0 {
		t.Errorf("%v, %v", s, err)
	}
}

// Nothing of an origin is left when it has been stopped while it was sending.
func TestOriginStops(t *testing.T) {
	o, err := startOrigin(1 << 10)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.Get(o.url)
	if err != nil {
		t.Fatal(err)
	}
	o.stop()
	if err := response.Body.Close(); err != nil {
		t.Error(err)
	}
	if response, err := http.Get(o.url); err == nil {
		response.Body.Close()
		t.Error("it still answers")
	}
}

// Both ways to read a part of a body agree.
func TestParseBody(t *testing.T) {
	data := strings.Repeat("\xFF", 65_537)
	chunk := base64.StdEncoding.EncodeToString([]byte(data))
	for name, test := range map[string]struct {
		text string
		last bool
		want int // bytes
	}{
		"as written by servers": {`{"method":"http/request/bodyDelta","params":{"requestId":"r","seq":1,"deltaBase64":"` + chunk + `","done":false,"error":null}}`, false, len(data)},
		"other spelling":        {`{"params": {"deltaBase64": "` + chunk + `", "done": false}, "method": "http/request/bodyDelta"}`, false, len(data)},
		"end":                   {`{"method":"http/request/bodyDelta","params":{"requestId":"r","seq":2,"deltaBase64":"","done":true,"error":null}}`, true, 0},
	} {
		e, err := parseEvent([]byte(test.text))
		if err != nil || e.kind != eventBody || e.last != test.last || e.chunkLen() != test.want {
			t.Errorf("%s: kind %d, last %v, %d bytes, error %v", name, e.kind, e.last, e.chunkLen(), err)
		}
	}
	broken := fmt.Sprintf(`{"method":"http/request/bodyDelta","params":{"requestId":"r","seq":2,"deltaBase64":"","done":true,"error":%q}}`, "oh no")
	if _, err := parseEvent([]byte(broken)); err == nil || !strings.Contains(err.Error(), "oh no") {
		t.Errorf("a body that ends early: error %v", err)
	}
}

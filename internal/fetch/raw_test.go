package fetch

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
)

// rawOrigin answers with bytes, and tells what it got.
type rawOrigin struct {
	URL string

	mu       sync.Mutex
	requests []string // guarded by mu
}

// serveRaw starts an origin that answers each request with what answers has for
// its path, and closes the connection.
func serveRaw(t *testing.T, answers map[string]string) *rawOrigin {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o := &rawOrigin{URL: "http://" + listener.Addr().String()}
	var all sync.WaitGroup
	t.Cleanup(all.Wait)
	t.Cleanup(func() { _ = listener.Close() })
	all.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			all.Go(func() { o.answer(conn, answers) })
		}
	})
	return o
}

func (o *rawOrigin) answer(conn net.Conn, answers map[string]string) {
	defer conn.Close()
	request := readRequest(bufio.NewReader(conn))
	if request == "" {
		return
	}
	o.mu.Lock()
	o.requests = append(o.requests, request)
	o.mu.Unlock()
	target := strings.Fields(request)[1]
	path, _, _ := strings.Cut(target, "?")
	_, _ = io.WriteString(conn, answers[path])
}

// readRequest returns the bytes of a request, or nothing if there is none.
func readRequest(in *bufio.Reader) string {
	var request strings.Builder
	length, chunked := 0, false
	for line := "-"; line != "\r\n"; {
		var err error
		if line, err = in.ReadString('\n'); err != nil {
			return ""
		}
		request.WriteString(line)
		_, _ = fmt.Sscanf(line, "Content-Length: %d", &length)
		chunked = chunked || line == "Transfer-Encoding: chunked\r\n"
	}
	_, _ = io.CopyN(&request, in, int64(length))
	for chunked && !strings.HasSuffix(request.String(), "\r\n0\r\n\r\n") {
		if _, err := io.CopyN(&request, in, 1); err != nil {
			return ""
		}
	}
	return request.String()
}

// last returns what the newest request looked like.
func (o *rawOrigin) last() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.requests) == 0 {
		return ""
	}
	return o.requests[len(o.requests)-1]
}

// plain is an answer.
func plain(body string, headers ...string) string {
	return "HTTP/1.1 200 OK\r\n" + strings.Join(append(headers, ""), "\r\n") + "\r\n" + body
}

package fetch

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/airlock-exec/airlock/protocol"
)

func gzipped(text string) string {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = io.WriteString(w, text)
	_ = w.Close()
	return out.String()
}

func zstandard(t *testing.T, text string) string {
	t.Helper()
	var out bytes.Buffer
	w, err := zstd.NewWriter(&out, zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(w, text)
	_ = w.Close()
	return out.String()
}

func TestDecode(t *testing.T) {
	t.Parallel()
	gz, zs := gzipped("hello"), zstandard(t, "hello")
	const early = "failed to read http/request response body: error decoding response body: "
	for _, test := range []struct {
		name, encoding, body, want string
	}{
		{"gzip", "gzip", gz, "hello"},
		{"in capitals", "GZIP", gz, "hello"},
		{"zstd", "zstd", zs, "hello"},
		{"frames", "zstd", zs + zs, "hellohello"},
		{"nothing", "gzip", "", ""},
		{"nothing as zstd", "zstd", "", ""},
		{"what follows does not count", "gzip", gz + gz + "xxx", "hello"},
		{"cut", "gzip", gz[:15], early + "it ends early"},
		{"cut in the header", "gzip", gz[:5], early + "it ends early"},
		{"cut zstd", "zstd", zs[:len(zs)-3], early + "it ends early"},
		{"cut in the header of zstd", "zstd", zs[:3], early + "it ends early"},
		{"no gzip", "gzip", strings.Repeat("x", 20), early + "gzip: invalid header"},
		{"no zstd", "zstd", strings.Repeat("x", 20), early},
		{"zstd with a large window", "zstd", "\x28\xb5\x2f\xfd\x00\x70\x09\x00\x00x", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			origin := serveRaw(t, map[string]string{"/": plain(test.body, "content-encoding: "+test.encoding, fmt.Sprintf("content-length: %d", len(test.body)))})
			c := newClient(t, Config{})
			result, err := c.do(with(get(origin.URL), "accept-encoding", "identity"))
			switch {
			case test.name == "zstd with a large window":
				wantError(t, err, protocol.CodeInternal, early+"the zstd window is larger")
			case strings.HasPrefix(test.want, early):
				wantError(t, err, protocol.CodeInternal, test.want)
			case err != nil:
				t.Error(err)
			case string(result.BodyBase64) != test.want || len(result.Headers) > 0:
				t.Errorf("got %+v", result)
			}
			if used := c.fetcher.memory.used.Load(); used != 0 {
				t.Errorf("%d bytes have not been given back", used)
			}
		})
	}
	for _, encoding := range []string{"br", "deflate", "x-gzip", "gzip, gzip", "identity"} {
		origin := serveRaw(t, map[string]string{"/": plain(gz, "content-encoding: "+encoding)})
		result := newClient(t, Config{}).must(get(origin.URL))
		if string(result.BodyBase64) != gz || header(result, "content-encoding")[0] != encoding {
			t.Errorf("%s: got %+v", encoding, result)
		}
	}
}

// TestDecodedAtOnce asserts that what an origin flushes arrives before it sends
// more, also when it is encoded.
func TestDecodedAtOnce(t *testing.T) {
	t.Parallel()
	type flusher interface {
		io.Writer
		Flush() error
	}
	for encoding, open := range map[string]func(io.Writer) flusher{
		"identity": func(w io.Writer) flusher {
			return struct {
				io.Writer
				nothing
			}{w, nothing{}}
		},
		"gzip": func(w io.Writer) flusher { return gzip.NewWriter(w) },
		"zstd": func(w io.Writer) flusher {
			out, _ := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
			return out
		},
	} {
		t.Run(encoding, func(t *testing.T) {
			t.Parallel()
			more := make(chan struct{})
			origin := serve(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Encoding", encoding)
				out := open(w)
				for i := range 5 {
					fmt.Fprintf(out, "data: %d\n\n", i)
					_ = out.Flush()
					w.(http.Flusher).Flush()
					<-more
				}
				if end, ok := out.(io.Closer); ok {
					_ = end.Close()
				}
			})
			c := newClient(t, Config{})
			c.must(stream(origin.URL, "s"))
			for i := range 5 {
				parts := c.await("s", func(parts []protocol.HTTPBodyDeltaNotification) bool { return len(parts) > i })
				if want := fmt.Sprintf("data: %d\n\n", i); string(parts[i].DeltaBase64) != want {
					t.Errorf("part %d is %q, want %q", i, parts[i].DeltaBase64, want)
				}
				more <- struct{}{}
			}
			if _, err := c.body("s"); err != nil {
				t.Error(*err)
			}
		})
	}
}

type nothing struct{}

func (nothing) Flush() error { return nil }

// TestBomb asserts that what a body stands for is bounded, not what is sent.
func TestBomb(t *testing.T) {
	t.Parallel()
	const size = 8 << 20
	for encoding, body := range map[string]string{
		"gzip": gzipped(strings.Repeat("a", size)), "zstd": zstandard(t, strings.Repeat("a", size)),
	} {
		origin := serveRaw(t, map[string]string{"/": plain(body, "content-encoding: "+encoding)})
		_, err := newClient(t, Config{MaxBodyBytes: size - 1}).do(get(origin.URL))
		wantError(t, err, protocol.CodeInternal, "failed to read http/request response body: it has more than 8388607 bytes")
		if result := newClient(t, Config{MaxBodyBytes: size}).must(get(origin.URL)); len(result.BodyBase64) != size {
			t.Errorf("got %d bytes", len(result.BodyBase64))
		}
	}
}

// FuzzDecode feeds the decoders with anything.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(gzipped("hello")), false)
	f.Add([]byte("\x28\xb5\x2f\xfd\x04\x58\x29\x00\x00hello\x9b\x2c\x1c\x7d"), true)
	fetcher, err := New(Config{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte, zstandard bool) {
		encoding := "gzip"
		if zstandard {
			encoding = "zstd"
		}
		body, _ := fetcher.decoded(&http.Response{
			Header: http.Header{"Content-Encoding": {encoding}},
			Body:   io.NopCloser(bytes.NewReader(data)),
		})
		_, _ = io.CopyN(io.Discard, body, 1<<20)
		_ = body.Close()
		if used := fetcher.memory.used.Load(); used != 0 {
			t.Fatalf("%d bytes have not been given back", used)
		}
	})
}

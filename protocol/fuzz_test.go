package protocol

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

func FuzzPathURI(f *testing.F) {
	for _, s := range []string{
		"file:///tmp", "file:tmp", "file://h/a b/../%2e%2E/c", `file:\\h\x`, "file:///C:/x", "file://h//c|/x",
		"file:///c%3a/..", "file:///%00/bad/path/L0M6L3E", "file://[::1]/x", " fi\tle:///%zz%C3%a9?", "http://x",
		"file:///a%2F..%2Fb", "file://host/share/%5C..", "file:./c|/..//..",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := ParsePathURI(s)
		if err != nil {
			return
		}
		for _, c := range []byte(p.String()) {
			if c <= ' ' || c >= 0x7f {
				t.Fatalf("%q: byte %q in %q", s, c, p)
			}
		}
		if again, err := ParsePathURI(p.String()); err != nil || again != p {
			t.Fatalf("%q: %q becomes %q (%v)", s, p, again, err)
		}
		checkNative(t, p, PathURI.unixPath, unixURI)
		checkNative(t, p, PathURI.windowsPath, windowsURI)
	})
}

func FuzzNative(f *testing.F) {
	for _, s := range []string{
		"/tmp", "/a/../b//c/", "/C:/q", "/c%3A", "/\xff\n", `C:\a\..\b`, `\\h\share\x`, `\\?\C:\x`, `//./pipe/x`, "c|/x",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if p, err := unixURI(s); err == nil && strings.IndexByte(s, 0) < 0 {
			checkNative(t, p, PathURI.unixPath, unixURI)
		}
		if p, err := windowsURI(s); err == nil {
			checkNative(t, p, PathURI.windowsPath, windowsURI)
		}
	})
}

// checkNative checks that the native path of p, if it has one, comes back the
// same from its own URI.
func checkNative(t *testing.T, p PathURI, native func(PathURI) (string, bool), uri func(string) (PathURI, error)) {
	path, ok := native(p)
	if !ok {
		return
	}
	own, err := uri(path)
	if err != nil {
		t.Fatalf("%q: path %q has no URI: %v", p, path, err)
	}
	if again, ok := native(own); !ok || again != path {
		t.Fatalf("%q: path %q, URI %q, path %q (%v)", p, path, own, again, ok)
	}
	if again, err := ParsePathURI(own.String()); err != nil || again != own {
		t.Fatalf("%q: path %q, URI %q becomes %q (%v)", p, path, own, again, err)
	}
}

func FuzzUUID(f *testing.F) {
	f.Add("67e55044-10b1-426f-9247-bb680e5fe0c8")
	f.Add("{67e55044-10b1-426f-9247-bb680e5fe0c8}")
	f.Add("urn:uuid:67e55044-10b1-426f-9247-bb680e5fe0c8")
	f.Add("67E5504410B1426F9247BB680E5FE0C8")
	f.Fuzz(func(t *testing.T, s string) {
		u, err := ParseUUID(s)
		if err != nil {
			return
		}
		if again, err := ParseUUID(u.String()); err != nil || again != u {
			t.Fatalf("%q: %s becomes %s (%v)", s, u, again, err)
		}
	})
}

func FuzzBytes(f *testing.F) {
	for _, s := range []string{"", "YQ==", "YWI=", "YWJj", "YR==", "YQ=\n", "QUJDREVGR0hJ", "AAAA\nAAA", "====", "*"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		data, err := decodeBase64(text)
		if err != nil {
			return
		}
		if again := AppendBase64(nil, data); !bytes.Equal(again, text) {
			t.Fatalf("%q becomes %q", text, again)
		}
	})
}

func FuzzDecodeStart(f *testing.F) {
	f.Add([]byte(startExample))
	f.Add([]byte(start(`"metadata":{"threadId":"{67e55044-10b1-426f-9247-bb680e5fe0c8}"},"sandbox":{"a":[1e400,"\u0041"]}`)))
	f.Add([]byte(start(`"envPolicy":{"inherit":"all","ignoreDefaultExcludes":true,"exclude":[],"set":{},"includeOnly":["*"]}`)))
	f.Fuzz(checkStable[StartParams])
}

func FuzzDecodeAll(f *testing.F) {
	checks := []func(*testing.T, []byte){
		checkStable[InitializeParams], checkStable[InitializeResult], checkStable[EnvironmentStatus], checkStable[Unit],
		checkStable[StartParams], checkStable[StartResult], checkStable[ReadParams], checkStable[ReadResult],
		checkStable[WriteParams], checkStable[WriteResult], checkStable[SignalParams], checkStable[SignalResult],
		checkStable[TerminateParams], checkStable[TerminateResult], checkStable[CloseStdinParams],
		checkStable[OutputNotification], checkStable[ExitedNotification], checkStable[ClosedNotification], checkStable[Error],
	}
	for i, raw := range []string{
		`{"clientName":"c","resumeSessionId":"r"}`,
		`{"sessionId":"s","environmentInfo":` + environmentInfo + `}`,
		`{"status":"ready"}`,
		`{}`,
		startExample,
		`{"processId":"p","sandboxType":"none"}`,
		`{"processId":"p","afterSeq":1,"maxBytes":2,"waitMs":3}`,
		`{"chunks":[{"seq":1,"stream":"pty","chunk":"YQ=="}],"nextSeq":5,"exited":true,"exitCode":3,"closed":true,"failure":null,"sandboxDenied":false,"airlock":{"firstSeq":1,"droppedBytes":{"pty":1}}}`,
		`{"processId":"p","chunk":"YQ==","writeId":"w"}`,
		`{"status":"accepted"}`,
		`{"processId":"p","signal":"interrupt"}`,
		`{}`,
		`{"processId":"p"}`,
		`{"running":true}`,
		`{"processId":"p"}`,
		`{"processId":"p","seq":1,"stream":"stdout","chunk":"YQ=="}`,
		`{"processId":"p","seq":1,"exitCode":-1,"sandboxDenied":false}`,
		`{"processId":"p","seq":1}`,
		`{"code":-32603,"message":"m","data":{"kind":"spawnNotFound"}}`,
	} {
		f.Add(uint8(i), []byte(raw))
	}
	f.Fuzz(func(t *testing.T, i uint8, raw []byte) { checks[int(i)%len(checks)](t, raw) })
}

// checkStable checks that raw is refused with a short error of the right kind,
// or that it is a T which stays the same when encoded and decoded.
func checkStable[T any](t *testing.T, raw []byte) {
	original := bytes.Clone(raw)
	v, err := Decode[T](raw)
	if !bytes.Equal(raw, original) {
		t.Fatalf("%q has been changed", original)
	}
	if err != nil {
		if e, ok := errors.AsType[*Error](err); !ok || e.Code != CodeInvalidParams || e.Message == "" || len(e.Message) > 5000 {
			t.Fatalf("%q: error %#v", raw, err)
		}
		return
	}
	encoded, err := Encode(v)
	if err != nil {
		t.Fatalf("%q: %v", raw, err)
	}
	again, err := Decode[T](encoded)
	if err != nil {
		t.Fatalf("%q: %q: %v", raw, encoded, err)
	}
	// Encoding may respell what stands in raw values.
	sameValue := cmp.Comparer(func(a, b jsontext.Value) bool {
		x, errX := Encode(a)
		y, errY := Encode(b)
		return errX == nil && errY == nil && bytes.Equal(x, y)
	})
	if diff := cmp.Diff(v, again, sameValue, cmp.AllowUnexported(PathURI{})); diff != "" {
		t.Fatalf("%q: %q: %s", raw, encoded, diff)
	}
	if stable, err := Encode(again); err != nil || !bytes.Equal(stable, encoded) {
		t.Fatalf("%q: %q becomes %q (%v)", raw, encoded, stable, err)
	}
}

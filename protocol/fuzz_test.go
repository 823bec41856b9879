package protocol

import (
	"bytes"
	"errors"
	"reflect"
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
	for _, s := range []string{"", "YQ==", "YWI=", "YWJj", "YR==", "YQ=\n", "QUJDREVGR0hJ", "AAAA\nAAA", "AAAA\n\n\n\n", "YQ==\r\n\r\n", "YQ\n\n\n\n==", "====", "*"} {
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
	f.Fuzz(func(t *testing.T, raw []byte) { checkStable(t, payload[StartParams](), raw) })
}

// FuzzDecodeAll decodes whatever there is on the wire.
func FuzzDecodeAll(f *testing.F) {
	all := []Payload{payload[Error]()}
	for _, m := range Contract() {
		all = append(all, m.Params)
		if !m.IsNotification() {
			all = append(all, m.Result)
		}
	}
	examples := map[reflect.Type][]string{
		reflect.TypeFor[InitializeParams]():  {`{"clientName":"c","resumeSessionId":"r"}`},
		reflect.TypeFor[InitializeResult]():  {`{"sessionId":"s","environmentInfo":` + environmentInfo + `}`},
		reflect.TypeFor[StartParams]():       {startExample},
		reflect.TypeFor[ReadParams]():        {`{"processId":"p","afterSeq":1,"maxBytes":2,"waitMs":3}`},
		reflect.TypeFor[ReadResult]():        {`{"chunks":[{"seq":1,"stream":"pty","chunk":"YQ=="}],"nextSeq":5,"exited":true,"exitCode":3,"closed":true,"failure":null,"sandboxDenied":false,"airlock":{"firstSeq":1,"droppedBytes":{"pty":1}}}`},
		reflect.TypeFor[Error]():             {`{"code":-32603,"message":"m","data":{"kind":"spawnNotFound"}}`},
		reflect.TypeFor[OpenFileParams]():    {`{"handleId":"h","path":"file:///f","mode":"replace","airlock":{"keep":true}}`},
		reflect.TypeFor[WriteFileParams]():   {`{"path":"file:///f","dataBase64":"YQ==","followSymlinks":false,"sandbox":{}}`},
		reflect.TypeFor[WalkResult]():        {`{"entries":[{"path":"file:///f","kind":"file"}],"errors":[{"path":"file:///g","message":"m"}],"truncated":false}`},
		reflect.TypeFor[HTTPRequestParams](): {`{"method":"GET","url":"http://x","headers":[{"name":"a","value":"b","valueEnvVar":"C"}],"bodyBase64":"YQ==","timeoutMs":1,"redirectPolicy":"stop","requestId":"r","streamResponse":true}`},
		reflect.TypeFor[SearchParams]():      {`{"path":"file:///f","pattern":"p","include":["*"],"maxMatches":1,"after":"x"}`},
	}
	for i, p := range all {
		// What has nothing in it shows the names at least.
		empty, err := Encode(reflect.Zero(p.Type).Interface())
		if err != nil {
			f.Fatal(err)
		}
		for _, raw := range append(examples[p.Type], string(empty)) {
			f.Add(uint8(i), []byte(raw))
		}
	}
	f.Fuzz(func(t *testing.T, i uint8, raw []byte) { checkStable(t, all[int(i)%len(all)], raw) })
}

// checkStable checks that raw is refused with a short error of the right kind,
// or that it is a payload which stays the same when encoded and decoded.
func checkStable(t *testing.T, p Payload, raw []byte) {
	original := bytes.Clone(raw)
	v, err := p.Decode(raw)
	if !bytes.Equal(raw, original) {
		t.Fatalf("%q has been changed", original)
	}
	if err != nil {
		if e, ok := errors.AsType[*Error](err); !ok || e.Code != CodeInvalidParams || e.Message == "" || len(e.Message) > 5000 {
			t.Fatalf("%q: error %#v", raw, err)
		}
		return
	}
	if file, ok := v.(WriteFileParams); ok && file.DataBase64.Fault != nil {
		return // which is not told again
	}
	encoded, err := Encode(v)
	if err != nil {
		t.Fatalf("%q: %v", raw, err)
	}
	again, err := p.Decode(encoded)
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

package protocol

import (
	"bytes"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"pgregory.net/rapid"
)

func TestBytesFaults(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("QUJD", 20)
	for _, test := range []struct{ in, want string }{
		{"*===", "Invalid symbol 42, offset 0."},
		{"!", "Invalid symbol 33, offset 0."},
		{"Y!==", "Invalid symbol 33, offset 1."},
		{"AAA*", "Invalid symbol 42, offset 3."},
		{"AAAA*", "Invalid symbol 42, offset 4."},
		{"YQ==\n", "Invalid symbol 10, offset 4."},
		{"\nYQ==", "Invalid symbol 10, offset 0."},
		{"YQ=\n=", "Invalid symbol 61, offset 2."},
		{"Zm9vYg\n==", "Invalid symbol 10, offset 6."},
		{"Zm9v\r\n\r\n", "Invalid symbol 13, offset 4."},
		{" YQ==", "Invalid symbol 32, offset 0."},
		{"_-==", "Invalid symbol 95, offset 0."},
		{"é", "Invalid symbol 195, offset 0."},
		{"\x00AAA", "Invalid symbol 0, offset 0."},
		{`"`, "Invalid symbol 34, offset 0."},
		{"====", "Invalid symbol 61, offset 0."},
		{"=", "Invalid symbol 61, offset 0."},
		{"A===", "Invalid symbol 61, offset 1."},
		{"AA=A", "Invalid symbol 61, offset 2."},
		{"YQ==x", "Invalid symbol 61, offset 2."},
		{"YQ===", "Invalid symbol 61, offset 2."},
		{"YWI=YWI=", "Invalid symbol 61, offset 3."},
		{"YWJj====", "Invalid symbol 61, offset 4."},
		{"A", "Invalid input length: 1"},
		{"AAAAA", "Invalid input length: 5"},
		{"YQ", "Invalid padding"},
		{"YQ=", "Invalid padding"},
		{"YWI", "Invalid padding"},
		{"AAAAAA", "Invalid padding"},
		{"AAAAAA=", "Invalid padding"},
		{"YR==", "Invalid last symbol 82, offset 1."},
		{"YWJ=", "Invalid last symbol 74, offset 2."},
		{"AAAAAR==", "Invalid last symbol 82, offset 5."},
		// Far from the end.
		{long[:33] + "*" + long[34:], "Invalid symbol 42, offset 33."},
		{long[:40] + "\n" + long[41:], "Invalid symbol 10, offset 40."},
		{long + "YQ", "Invalid padding"},
		{long + "YR==", "Invalid last symbol 82, offset 81."},
	} {
		quoted, err := json.Marshal(test.in)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := Decode[Bytes](quoted); err == nil || err.Error() != test.want {
			t.Errorf("%q: got %q (%v), want error %q", test.in, b, err, test.want)
		}
	}
}

func TestBytesEscaped(t *testing.T) {
	t.Parallel()
	if b, err := Decode[Bytes]([]byte(`"\u0059Q=\u003d"`)); err != nil || string(b) != "a" {
		t.Errorf("got %q (%v)", b, err)
	}
	if b, err := Decode[Bytes]([]byte(`""`)); err != nil || b == nil || len(b) != 0 {
		t.Errorf("got %#v (%v)", b, err)
	}
}

// TestBase64 compares with the standard library, at every length and place.
func TestBase64(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		data := rapid.SliceOfN(rapid.Byte(), 0, 100).Draw(t, "data")
		prefix := []byte("prefix")
		text := AppendBase64(prefix, data)[len(prefix):]
		if want := base64.StdEncoding.EncodeToString(data); string(text) != want {
			t.Fatalf("got %q, want %q", text, want)
		}
		if back, err := decodeBase64(text); err != nil || !bytes.Equal(back, data) {
			t.Fatalf("%q: got %q (%v), want %q", text, back, err, data)
		}
		if len(text) == 0 {
			return
		}
		at := rapid.IntRange(0, len(text)-1).Draw(t, "at")
		text[at] = rapid.Byte().Draw(t, "byte")
		got, err := decodeBase64(text)
		want, wantErr := base64.StdEncoding.Strict().AppendDecode(nil, text)
		if bytes.ContainsAny(text, "\r\n") {
			wantErr = base64.CorruptInputError(at)
		}
		if (err != nil) != (wantErr != nil) || err == nil && !bytes.Equal(got, want) {
			t.Fatalf("%q: got %q (%v), want %q (%v)", text, got, err, want, wantErr)
		}
	})
}

package protocol

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/airlock-exec/airlock/internal/longtext"
)

// What is decoded with a long string is what is decoded without one, and so are the
// faults.
func TestDecodeLong(t *testing.T) {
	t.Parallel()
	data := bytes.Repeat([]byte("long "), longtext.Least)
	long := string(AppendBase64(nil, data))
	for _, test := range []struct {
		text string
		ok   bool // taken by decodeLong
	}{
		{`{"handleId":"h","offset":7,"chunk":"@"}`, true},
		{`{"chunk":"@","offset":7,"other":["x"],"handleId":"h"}`, true},
		{`{"chunk":"@","offset":7,"handleId":"h","other":{"chunk":"@"}}`, true},
		{`{"other":"@","handleId":"h","offset":7,"chunk":"QUJD"}`, false},
		{`{"other":{"chunk":"@"},"handleId":"h","offset":7,"chunk":"QUJD"}`, false},
		{`{"handleId":"@","offset":7,"chunk":"QUJD"}`, false},
		{`{"handleId":"h","offset":7,"chunk":"@!"}`, false},
		{`{"handleId":"h","offset":7,"chunk":"@="}`, false},
		{`{"handleId":"h","offset":-7,"chunk":"@"}`, false},
		{`{"handleId":"h","offset":7,"chunk":"@","chunk":"@"}`, false},
		{`{"handleId":"h","chunk":"@"}`, false},
		{`{"handleId":"h","offset":7,"chunk":"@"} 1`, false},
		{`"@"`, false},
		{`["@"]`, false},
	} {
		text := []byte(strings.ReplaceAll(test.text, "@", long))
		var fast WriteBlockParams
		if ok := decodeLong(text, reflect.ValueOf(&fast).Elem(), makeBytes); ok != test.ok {
			t.Errorf("%s: decoded so: %v", test.text, ok)
		}
		got, err := Decode[WriteBlockParams](text)
		want, wantErr := decodeSlowly[WriteBlockParams](text)
		if !reflect.DeepEqual(got, want) || fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Errorf("%s: got %.50v, error %v; want %.50v, error %v", test.text, got, err, want, wantErr)
		}
	}
}

// decodeSlowly is Decode without decodeLong.
func decodeSlowly[T any](text []byte) (v T, err error) {
	if err := json.Unmarshal(text, &target{reflect.ValueOf(&v).Elem()}); err != nil {
		return *new(T), Errorf(CodeInvalidParams, "%s", faultText(err))
	}
	return v, nil
}

// Pointers to Bytes are members, too.
func TestDecodeLongPointer(t *testing.T) {
	t.Parallel()
	data := bytes.Repeat([]byte("long "), longtext.Least)
	text := fmt.Appendf(nil, `{"method":"POST","url":"http://x","requestId":"r","bodyBase64":"%s"}`, AppendBase64(nil, data))
	var p HTTPRequestParams
	if !decodeLong(text, reflect.ValueOf(&p).Elem(), makeBytes) || p.BodyBase64 == nil || !bytes.Equal(*p.BodyBase64, data) || p.RequestID != "r" {
		t.Errorf("got %.100v", p)
	}
}

// The content of a file tells of its faults itself.
func TestDecodeLongFile(t *testing.T) {
	t.Parallel()
	data := bytes.Repeat([]byte("long "), longtext.Least)
	text := fmt.Appendf(nil, `{"path":"file:///f","dataBase64":"%s"}`, AppendBase64(nil, data))
	var p WriteFileParams
	if !decodeLong(text, reflect.ValueOf(&p).Elem(), makeBytes) || !bytes.Equal(p.DataBase64.Bytes, data) || p.DataBase64.Fault != nil {
		t.Errorf("got %.100v", p)
	}
	text = bytes.Replace(text, []byte(`"}`), []byte(`!"}`), 1)
	if p, err := Decode[WriteFileParams](text); err != nil || p.DataBase64.Fault == nil {
		t.Errorf("bad base64: fault %v, error %v", p.DataBase64.Fault, err)
	}
}

// Memory that is used again is asked for once, and only for what is long.
func TestDecodeUsing(t *testing.T) {
	t.Parallel()
	memory := bytes.Repeat([]byte("x"), 1<<20)
	var asked []int
	room := func(size int) []byte {
		asked = append(asked, size)
		return memory[:size]
	}
	for _, size := range []int{1, 100, longtext.Least, longtext.Least + 1, 1 << 18} {
		asked = nil
		want := noise(size)
		text := fmt.Appendf(nil, `{"handleId":"h","offset":7,"chunk":"%s"}`, AppendBase64(nil, want))
		p, err := DecodeUsing[WriteBlockParams](text, room)
		if err != nil || !bytes.Equal(p.Chunk, want) {
			t.Errorf("%d bytes: got other ones, error %v", size, err)
		}
		long := size >= longtext.Least
		if used := &p.Chunk[0] == &memory[0]; used != long || len(asked) > 1 || (len(asked) == 1) != long {
			t.Errorf("%d bytes: asked for %d, used: %v", size, asked, used)
		}
	}
	if p, err := DecodeUsing[WriteBlockParams]([]byte(`{"handleId":"h","offset":7,"chunk":"`+strings.Repeat("!", longtext.Least)+`"}`), room); err == nil {
		t.Errorf("bad base64: got %v", p)
	}
}

func BenchmarkDecodeBlock(b *testing.B) {
	text := fmt.Appendf(nil, `{"handleId":"h","offset":7,"chunk":"%s"}`, AppendBase64(nil, make([]byte, 1<<20)))
	b.SetBytes(1 << 20)
	for b.Loop() {
		if _, err := Decode[WriteBlockParams](text); err != nil {
			b.Fatal(err)
		}
	}
}

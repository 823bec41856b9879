package conformance

import (
	"bytes"
	"testing"
	"testing/fstest"
)

// FuzzDecode: a text that is read is read the same when it has been written.
func FuzzDecode(f *testing.F) {
	for _, text := range []string{`{"a":[1,"x",null,true,{"b":-1.5e3}]}`, `"\ud83d\ude00"`, `[]`, `{"a":1,"a":2}`, `1 1`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		first, err := decode(text)
		if err != nil {
			return
		}
		again, err := decode([]byte(encode(first)))
		if err != nil || encode(again) != encode(first) {
			t.Errorf("%q was read as %s, which is read as %s, error %v", text, encode(first), encode(again), err)
		}
		if wrong := match(map[string]any{"$any": true}, first, variables{}); len(wrong) > 0 {
			t.Errorf("anything does not match: %v", wrong)
		}
	})
}

// FuzzFrame: whatever a server sends is a frame or an error, and no more is read
// than there is.
func FuzzFrame(f *testing.F) {
	f.Add([]byte{0x81, 0x02, 'h', 'i'})
	f.Add([]byte{0x88, 0x02, 0x03, 0xe8})
	f.Add([]byte{0x81, 126, 0x00, 0x01, 'x'})
	f.Add([]byte{0x81, 127, 0xff, 0, 0, 0, 0, 0, 0, 0, 'x'})
	f.Add(frame{opcode: opText, fin: true, payload: []byte("masked")}.append(nil))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if len(raw) > 9 && raw[1]&0x7f == 127 && (raw[5] != 0 || raw[6] != 0) {
			return // megabytes that do not come: only slow
		}
		r := bytes.NewReader(raw)
		got, err := readFrame(r)
		if err == nil && len(got.payload) > len(raw) {
			t.Errorf("%d bytes were read from %d", len(got.payload), len(raw))
		}
		if err == nil && got.fin && got.rsv == 0 {
			again := frame{opcode: got.opcode, fin: true, unmasked: true, payload: got.payload}.append(nil)
			if back, err := readFrame(bytes.NewReader(again)); err != nil || !bytes.Equal(back.payload, got.payload) || back.opcode != got.opcode {
				t.Errorf("%x became %x, error %v", raw, again, err)
			}
		}
	})
}

// FuzzLoad: a file of cases is understood or refused.
func FuzzLoad(f *testing.F) {
	for _, step := range []string{ // small ones: the fuzzer spends its time on making them smaller
		`{"repeat":2,"steps":[{"call":"x","expect":{"$not":{"$match":"a"}}}]}`,
		`{"begin":"x","params":{"$repeat":["a",2]},"as":"b"},{"order":["b"]}`,
		`{"start":"p","argv":["x"],"expect":{"$use":"d"},"differs":{"id":"d","peer":"x","expect":1}}`,
		`{"http":{"upgrade":true,"headers":[["a",null]]},"expect":{"$open":{"a":{"$optional":1}}}}`,
		`{"outcome":"p","expect":{"stdout":{"$lines":["a"]}}}`,
		`{"body":"s","expect":{"text":"x","error":null}}`,
	} {
		f.Add([]byte(`{"about":"x","define":{"d":1},"cases":[{"name":"a","spec":"01 §8","steps":[` + step + `]}]}`))
	}
	f.Add([]byte(`{"about":"x","cases":[{"name":"a","spec":"01 §8","folder":":","origin":{"/":{"headers":[["a","b"]],"body":["x",{"wait":"y"},{"$hex":"00"}],"length":1}},` +
		`"steps":[{"shell":"x","expect":"y"},{"asked":"/","expect":1},{"release":"y"},{"left":"/"}]}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := LoadFS(fstest.MapFS{"cases/x.json": {Data: text}})
		if err == nil && (len(s.Cases) == 0 || s.Cases[0].Checks == 0) {
			t.Error("a suite that checks nothing was loaded")
		}
	})
}

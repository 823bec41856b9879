package rpc

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/internal/longtext"
	"github.com/airlock-exec/airlock/protocol"
)

func TestParse(t *testing.T) {
	for _, test := range []struct {
		text string
		kind Kind
		id   string
	}{
		{`{"id":1,"method":"m"}`, KindRequest, "1"},
		{`{"jsonrpc":"1.5","id":"abc","method":"m","params":{"a":[1]},"junk":{}}`, KindRequest, `"abc"`},
		{`{"id":"","method":"m"}`, KindRequest, `""`},
		{`{"id":9223372036854775807,"method":"m","params":null}`, KindRequest, "9223372036854775807"},
		{`{"id":-9223372036854775808,"method":"m"}`, KindRequest, "-9223372036854775808"},
		{`{"id":1,"method":"m","result":1,"error":2}`, KindRequest, "1"},
		{`{"method":"m","result":1}`, KindNotification, ""},
		{`{"method":"m","trace":"ignored"}`, KindNotification, ""},
		{`{"id":1,"result":null}`, KindResponse, "1"},
		{`{"id":1,"error":{"code":-1,"message":"m","data":{"x":1}}}`, KindResponse, "1"},
		{" \t\r\n{\"id\":1,\"method\":\"m\"}\n ", KindRequest, "1"},
		{`{"id":1,"method":"m","trace":null}`, KindRequest, "1"},
		{`{"id":1,"method":"m","trace":{"traceparent":null,"tracestate":"x"}}`, KindRequest, "1"},
		{`{"id":1,"method":"m","ignored":1e400}`, KindRequest, "1"},
		{`{"id":1,"m\u0065thod":"m"}`, KindRequest, "1"},
	} {
		m, err := Parse([]byte(test.text))
		if err != nil || m.Kind != test.kind || m.ID.text != test.id {
			t.Errorf("%s: kind %d, id %q, error %v", test.text, m.Kind, m.ID.text, err)
		}
	}
}

func TestParseErrors(t *testing.T) {
	const noID = "data did not match any variant of untagged enum RequestId"
	for _, test := range []struct{ text, want string }{
		{``, "EOF while parsing a value at line 1 column 1"},
		{`hello`, "at line 1 column 1"},
		{`[{"id":1}]`, "expected a JSON-RPC object"},
		{`null`, "expected a JSON-RPC object"},
		{`"text"`, "expected a JSON-RPC object"},
		{`5 6`, "trailing characters"},
		{`{}`, "missing field `error`"},
		{`{"id":1}`, "missing field `error`"},
		{`{"result":1}`, "missing field `id`"},
		{`{"id":null,"method":"m"}`, noID},
		{`{"id":1.0,"method":"m"}`, noID},
		{`{"id":1e2,"method":"m"}`, noID},
		{`{"id":true,"method":"m"}`, noID},
		{`{"id":[],"method":"m"}`, noID},
		{`{"id":9223372036854775808,"method":"m"}`, noID},
		{`{"id":1,"method":null}`, "invalid type: null, expected a string"},
		{`{"id":1,"method":5}`, "invalid type: number, expected a string"},
		{`{"id":1,"error":5}`, "invalid type: number"},
		{`{"id":1,"error":{"code":"x","message":"m"}}`, "invalid type"},
		{`{"id":1,"method":"m",}`, "at line 1 column"},
		{`{"id":1,"method":"m"} x`, "at line 1 column 23"},
		{`{"id":1,"method":"m"}{"id":2,"method":"m"}`, "trailing characters at line 1 column 22"},
		{"{\"id\":1,\n\"method\":NaN}", "at line 2 column 10"},
		{"\ufeff{\"id\":1,\"method\":\"m\"}", "at line 1 column 1"},
		{`{"id":1,"method":"\ud800"}`, "at line 1 column"},
		{"{\"id\":1,\"method\":\"\xff\"}", "at line 1 column"},
		{`{"id":5,"id":6,"method":"m"}`, "duplicate JSON object key `id` at line 1 column 12"},
		{`{"id":5,"method":"m","junk":[{"a":1,"\u0061":2}]}`, "duplicate JSON object key `a`"},
		{`{"` + strings.Repeat("k", 1000) + `":1,"` + strings.Repeat("k", 1000) + `":1}`, "kkk…` at line 1"},
		{`{"id":1,"method":"m","trace":"x"}`, "expected struct W3cTraceContext"},
		{`{"id":1,"method":"m","trace":{"traceparent":5}}`, "invalid type"},
	} {
		_, err := Parse([]byte(test.text))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%.60s: error %v, want %q", test.text, err, test.want)
		}
	}
}

func TestValueLimit(t *testing.T) {
	// The root, id, method and the array leave room for so many elements.
	message := func(elements int) []byte {
		return []byte(`{"id":1,"method":"m","p,[":[` + strings.Repeat("0,", elements-1) + `0]}`)
	}
	const most = limits.JSONValues - 4
	if _, err := Parse(message(most)); err != nil {
		t.Error(err)
	}
	over := message(most + 1)
	_, err := Parse(over)
	want := fmt.Sprintf("JSON-RPC message exceeds the limit of 262144 JSON values at line 1 column %d", len(over)-2)
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	// Separators inside strings do not count, nor do names.
	harmless := `{"id":1,"method":"m","text":"` + strings.Repeat(`[{,\"`, limits.JSONValues) + `"}`
	if _, err := Parse([]byte(harmless)); err != nil {
		t.Error(err)
	}
}

func TestDepthLimit(t *testing.T) {
	message := func(depth int) []byte {
		return []byte(`{"id":1,"method":"m","p":` + strings.Repeat("[", depth-1) + strings.Repeat("]", depth-1) + `}`)
	}
	if _, err := Parse(message(limits.JSONDepth)); err != nil {
		t.Error(err)
	}
	_, err := Parse(message(limits.JSONDepth + 1))
	if want := fmt.Sprintf("recursion limit exceeded at line 1 column %d", 25+limits.JSONDepth); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	wide := `{"id":1,"method":"m","p":[` + strings.Repeat("[],", 1000) + `{}]}`
	if _, err := Parse([]byte(wide)); err != nil {
		t.Error(err)
	}
	// Not JSON at all, and no end to it.
	if _, err := Parse([]byte(strings.Repeat("[", 1<<20))); err == nil {
		t.Error("no error")
	}
}

func TestTrace(t *testing.T) {
	m, err := Parse([]byte(`{"id":1,"method":"m","trace":{"traceparent":"00-a","tracestate":null,"other":1}}`))
	if err != nil || m.Trace != (Trace{Parent: "00-a"}) {
		t.Errorf("%+v, error %v", m.Trace, err)
	}
}

func TestAppend(t *testing.T) {
	for _, test := range []struct{ got, want string }{
		{string(appendRequest(nil, numberID(7), "a\"b", []byte(`{"x":1}`))), `{"id":7,"method":"a\"b","params":{"x":1}}`},
		{string(appendAnswer(nil, ID{`"abc"`}, Reply{Result: []int{}})), `{"id":"abc","result":[]}`},
		{
			string(appendError(nil, parseErrorID, protocol.Errorf(protocol.CodeInvalidRequest, "not \xff"))),
			`{"error":{"code":-32600,"message":"not ` + "\ufffd" + `"},"id":-1}`,
		},
		{
			string(appendError(nil, numberID(10), protocol.WithKind(protocol.CodeInternal, protocol.KindSpawnNotFound, "m"))),
			`{"error":{"code":-32603,"data":{"kind":"spawnNotFound"},"message":"m"},"id":10}`,
		},
	} {
		if test.got != test.want {
			t.Errorf("got %s, want %s", test.got, test.want)
		}
	}
}

// What stands before, in and behind a long string is found as if it were short, and
// so are faults.
func TestParseLong(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("QUJD", longtext.Least/4)
	for _, test := range []string{
		`{"id":12,"method":"m","params":{"a":1,"chunk":"@","b":"c"},"trace":{"traceparent":"x"}}`,
		`{"trace":{"traceparent":"x"},"params":"@" , "method":"m","id":"y"}`,
		`{"id":1,"method":"@","params":1}`,
		`{"id":"@","method":"m","params":{}}`,
		`{"other":"@","id":1,"result":{"x":[1]}}`,
		`{"id":1,"result":"@"}`,
		`{"method":"m","params":["@","@"]}`,
		`{"@":1,"@":2,"id":1,"method":"m"}`,
		`{"id":1,"id":2,"method":"m","params":"@"}`,
		`{"id":1,"method":"m","params":{"x":1,"y":"@","x":2}}`,
		`{"id":1,"method":"m","params":"@"} x`,
		`{"id":1,"method":"m","params":"@`,
		`{"id":1,"method":"m","params":"@",}`,
		`["@"]`,
		`"@"`,
	} {
		text := strings.ReplaceAll(test, "@", long)
		short, shortErr := Parse([]byte(strings.ReplaceAll(test, "@", "~")))
		got, err := Parse([]byte(text))
		if (err == nil) != (shortErr == nil) {
			t.Errorf("%s: error %v, with a short string %v", test, err, shortErr)
		}
		if whole, wholeErr := (cut{[]byte(text), []byte(text), len(text)}).split(); err != nil && wholeErr != nil && err.Error() != wholeErr.Error() {
			t.Errorf("%s: error %v, in the whole text %v: %v", test, err, wholeErr, whole)
		}
		if err != nil {
			continue
		}
		same := func(short, got string) {
			t.Helper()
			if want := strings.ReplaceAll(short, "~", long); got != want {
				t.Errorf("%s: got %.100s, want %.100s", test, got, want)
			}
		}
		same(short.ID.text, got.ID.text)
		same(short.Method, got.Method)
		same(string(short.Params), string(got.Params))
		same(string(short.Result), string(got.Result))
		same(short.Trace.Parent, got.Trace.Parent)
	}
}

// FuzzParse: no input panics; what is accepted is what another decoder accepts,
// and a request that is written again is read the same.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `[]`, `{"id":1,"method":"m","params":{"a":[1,{"b":null}]}}`, `{"method":"initialized"}`,
		`{"id":"x","result":{}}`, `{"id":1,"error":{"code":1,"message":"m"}}`, `{"id":1,"id":2}`,
		`{"id":1,"method":"m","trace":{"traceparent":"x"}}`, "{\"a\":\"\\u0000\xff\"}", `{"id":1e400}`,
		strings.Repeat("[", 200),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := Parse(data)
		answered, isAnswer := answerID(data)
		if err != nil {
			if err.Error() == "" {
				t.Error("an error without a text")
			}
			return
		}
		if _, numbered := m.ID.number(); isAnswer != (m.Kind == KindResponse && numbered) || isAnswer && answered != m.ID {
			t.Errorf("an answer to %v, %v", answered, isAnswer)
		}
		if !json.Valid(data) {
			t.Fatalf("accepted what is not JSON: %q", data)
		}
		if m.Kind != KindRequest {
			return
		}
		again, err := Parse(appendRequest(nil, m.ID, m.Method, m.Params))
		if err != nil || again.ID != m.ID || again.Method != m.Method || string(again.Params) != string(m.Params) {
			t.Errorf("%q, written again, is read as %+v, error %v", data, again, err)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	for _, bench := range []struct{ name, text string }{
		{"status", `{"id":12,"method":"environment/status"}`},
		{"write", `{"id":12,"method":"process/write","params":{"processId":"p","chunk":"` + strings.Repeat("QUJD", 16<<10) + `","writeId":"1"}}`},
	} {
		b.Run(bench.name, func(b *testing.B) {
			data := []byte(bench.text)
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if _, err := Parse(data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

package main

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// outputText is an output notification as servers write it.
func outputText(stream string, data []byte) string {
	return fmt.Sprintf(`{"method":"process/output","params":{"processId":"p1","seq":7,"stream":%q,"chunk":%q}}`,
		stream, base64.StdEncoding.EncodeToString(data))
}

func TestParseEvent(t *testing.T) {
	for _, test := range []struct {
		name, text string
		want       event
	}{
		{"answer", `{"id":5,"result":{"processId":"p1","sandboxType":"none"}}`, event{kind: eventAnswer, id: 5, result: []byte(`{"processId":"p1","sandboxType":"none"}`)}},
		{"answer, other spelling", `{"result": {"a":1}, "id": 5}`, event{kind: eventAnswer, id: 5, result: []byte(`{"a":1}`)}},
		{"answer, no result", `{"id":5,"result":null}`, event{kind: eventAnswer, id: 5, result: []byte(`null`)}},
		{
			"exited", `{"method":"process/exited","params":{"processId":"p1","seq":1,"exitCode":3,"sandboxDenied":false}}`,
			event{kind: eventExited, process: "p1", exitCode: 3},
		},
		{"closed", `{"method":"process/closed","params":{"processId":"p1","seq":2}}`, event{kind: eventClosed, process: "p1"}},
		{"other notification", `{"method":"fs/missingChanged","params":{"watchId":1}}`, event{}},
		{"server request", `{"id":1,"method":"network/policyRequest","params":{}}`, event{}},
	} {
		got, err := parseEvent([]byte(test.text))
		if err != nil || fmt.Sprint(got) != fmt.Sprint(test.want) {
			t.Errorf("%s: got %+v, %v", test.name, got, err)
		}
	}
	for name, text := range map[string]string{
		"error answer": `{"error":{"code":-32600,"message":"unknown process id p1"},"id":3}`,
		"error first":  `{"id":3,"error":{"code":-32601,"message":"no"}}`,
		"not JSON":     `hello`,
		"cut off":      `{"id":3,"result":{"a":1`,
	} {
		if got, err := parseEvent([]byte(text)); err == nil {
			t.Errorf("%s: accepted as %+v", name, got)
		}
	}
}

// Both ways to read an output notification agree, and every spelling is read
// by one of them.
func TestParseOutput(t *testing.T) {
	for _, data := range []string{"", "x", "xy", "xyz", strings.Repeat("\xFF", 65_536)} {
		chunk := base64.StdEncoding.EncodeToString([]byte(data))
		for name, test := range map[string]struct {
			text string
			fast bool
		}{
			"as written by servers": {outputText("stdout", []byte(data)), true},
			"chunk first":           {`{"method":"process/output","params":{"chunk":"` + chunk + `","stream":"stdout"}}`, true},
			"params first":          {`{"params":{"stream":"stdout","processId":"` + strings.Repeat("p", 200) + `","chunk":"` + chunk + `"},"method":"process/output"}`, false},
			"blanks":                {`{"method":"process/output", "params":{"stream": "stdout", "chunk": "` + chunk + `"}}`, false},
		} {
			if _, fast := scanOutput([]byte(test.text)); fast != test.fast {
				t.Errorf("%s: the scanner took it: %v", name, fast)
			}
			e, err := parseEvent([]byte(test.text))
			if err != nil || e.kind != eventOutput || !e.stdout || string(e.chunk) != chunk || e.chunkLen() != len(data) {
				t.Errorf("%s, %d bytes: got %d, %v", name, len(data), e.chunkLen(), err)
			}
		}
	}
	if e, err := parseEvent([]byte(outputText("stderr", []byte("x")))); err != nil || e.stdout {
		t.Errorf("stderr: %+v, %v", e, err)
	}
}

// Only an answer that says so is one that the server does not offer a thing.
func TestNotBuilt(t *testing.T) {
	for text, want := range map[string]bool{
		`{"error":{"code":-32601,"message":"no such method"},"id":3}`:                                     true,
		`{"error":{"code":-32602,"data":{"kind":"sandboxUnavailable"},"message":"it has no box"},"id":3}`: true,
		`{"error":{"code":-32602,"data":{"kind":"sandboxPreparation"},"message":"bad root"},"id":3}`:      false,
		`{"error":{"code":-32603,"message":"No such file or directory"},"id":3}`:                          false,
	} {
		_, err := parseEvent([]byte(text))
		if answer, ok := errors.AsType[*answerError](err); !ok || answer.notBuilt() != want {
			t.Errorf("%s: %v, not built: want %v", text, err, want)
		}
	}
}

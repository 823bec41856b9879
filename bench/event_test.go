package main

import (
	"encoding/base64"
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
		{"answer", `{"id":5,"result":{"processId":"p1","sandboxType":"none"}}`, event{kind: eventAnswer, id: 5}},
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
		"not JSON":     `hello`,
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

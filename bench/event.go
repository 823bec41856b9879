package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
)

type eventKind int

const (
	eventOther eventKind = iota // not of interest to any measure
	eventAnswer
	eventOutput
	eventBody // a part of the body of an HTTP answer
	eventExited
	eventClosed
)

// event is one message from the server, as far as a measure needs it.
type event struct {
	kind     eventKind
	id       int    // answer: of which request
	result   []byte // answer: its result, valid until the next message is read
	process  string // exited, closed
	exitCode int    // exited
	stdout   bool   // output: the stream is stdout
	chunk    []byte // output, body: base64, valid until the next message is read
	last     bool   // body: there is no more
	finished bool   // set by client.next: this message completed a process
}

// chunkLen is the number of bytes the chunk stands for.
func (e event) chunkLen() int {
	padding := bytes.Count(e.chunk[max(0, len(e.chunk)-2):], []byte("="))
	return len(e.chunk)/4*3 - padding
}

// message is any message a server may send.
type message struct {
	ID     *int   `json:"id"`
	Method string `json:"method"`
	Params struct {
		ProcessID string `json:"processId"`
		Stream    string `json:"stream"`
		Chunk     string `json:"chunk"`
		ExitCode  int    `json:"exitCode"`
		Delta     string `json:"deltaBase64"`
		Done      bool   `json:"done"`
		Error     string `json:"error"`
	} `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *answerError    `json:"error"`
}

// answerError is an error answer.
type answerError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    struct {
		Kind string `json:"kind"`
	} `json:"data"`
}

func (e *answerError) Error() string { return fmt.Sprintf("error answer %d: %s", e.Code, e.Message) }

// notBuilt tells whether the answer says that the server does not have what it
// was asked for, which is no failure of a measure.
func (e *answerError) notBuilt() bool {
	const methodNotFound = -32601
	return e.Code == methodNotFound || e.Data.Kind == "sandboxUnavailable"
}

// parseEvent reads one message. An error answer is an error.
func parseEvent(text []byte) (event, error) {
	if e, ok := scanOutput(text); ok {
		return e, nil
	}
	if e, ok := scanBody(text); ok {
		return e, nil
	}
	if e, ok := scanAnswer(text); ok {
		return e, nil
	}
	var m message
	if err := json.Unmarshal(text, &m); err != nil {
		return event{}, fmt.Errorf("decoding %.200q: %w", text, err)
	}
	switch {
	case m.Error != nil:
		return event{}, m.Error
	case m.Method == "process/output":
		return event{kind: eventOutput, stdout: m.Params.Stream == "stdout", chunk: []byte(m.Params.Chunk)}, nil
	case m.Method == methodBody && m.Params.Error != "":
		return event{}, fmt.Errorf("the body of an HTTP answer ended early: %s", m.Params.Error)
	case m.Method == methodBody:
		return event{kind: eventBody, chunk: []byte(m.Params.Delta), last: m.Params.Done}, nil
	case m.Method == "process/exited":
		return event{kind: eventExited, process: m.Params.ProcessID, exitCode: m.Params.ExitCode}, nil
	case m.Method == "process/closed":
		return event{kind: eventClosed, process: m.Params.ProcessID}, nil
	case m.Method == "" && m.ID != nil:
		return event{kind: eventAnswer, id: *m.ID, result: m.Result}, nil
	default:
		return event{}, nil
	}
}

// methodBody tells a part of the body of an HTTP answer.
const methodBody = "http/request/bodyDelta"

// hasMethod looks for the method near the start, where it stands in the plain
// spelling.
func hasMethod(text []byte, method string) bool {
	const start = 128
	return bytes.Contains(text[:min(start, len(text))], []byte(`"method":"`+method+`"`))
}

// scanOutput reads an output notification without decoding it, which is what
// keeps this client faster than the servers. It knows only the plain spelling,
// without blanks, and leaves all else to the decoder. It cannot be misled by
// what a string contains: our process ids are plain, base64 has no quotes.
func scanOutput(text []byte) (event, bool) {
	if !hasMethod(text, "process/output") {
		return event{}, false
	}
	stream, ok := scanString(text, `"stream":"`)
	if !ok {
		return event{}, false
	}
	chunk, ok := scanString(text, `"chunk":"`)
	return event{kind: eventOutput, stdout: string(stream) == "stdout", chunk: chunk}, ok
}

// scanBody reads a part of a body as scanOutput does, but for the last one.
func scanBody(text []byte) (event, bool) {
	if !hasMethod(text, methodBody) {
		return event{}, false
	}
	chunk, ok := scanString(text, `"deltaBase64":"`)
	return event{kind: eventBody, chunk: chunk}, ok && bytes.HasSuffix(text, []byte(`"done":false,"error":null}}`))
}

// scanAnswer reads an answer without decoding its result, which may be large.
// As scanOutput it knows the plain spelling only.
func scanAnswer(text []byte) (event, bool) {
	rest, ok := bytes.CutPrefix(text, []byte(`{"id":`))
	if !ok {
		return event{}, false
	}
	digits, result, ok := bytes.Cut(rest, []byte(`,"result":`))
	if !ok || len(digits) > 9 {
		return event{}, false
	}
	id, err := strconv.Atoi(string(digits))
	result, closed := bytes.CutSuffix(result, []byte("}"))
	return event{kind: eventAnswer, id: id, result: result}, err == nil && closed
}

// scanString returns what stands between prefix and the next quote.
func scanString(text []byte, prefix string) ([]byte, bool) {
	begin := bytes.Index(text, []byte(prefix))
	if begin < 0 {
		return nil, false
	}
	value, _, ended := bytes.Cut(text[begin+len(prefix):], []byte{'"'})
	return value, ended
}

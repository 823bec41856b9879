package agent

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// command are the arguments of exec_command. The shell is no login shell: what a
// profile prints, and the time it takes, would be the machine's.
type command struct {
	Cmd       string `json:"cmd"`
	Workdir   string `json:"workdir,omitempty"`
	TTY       bool   `json:"tty,omitempty"`
	YieldMS   int    `json:"yield_time_ms,omitempty"` // 250 at least
	MaxTokens int    `json:"max_output_tokens,omitempty"`
	Login     bool   `json:"login"`
	// Permissions is require_escalated of a command that asks to leave the sandbox.
	Permissions   string `json:"sandbox_permissions,omitempty"`
	Justification string `json:"justification,omitempty"`
}

// input are the arguments of write_stdin; without Chars it waits for output, for
// 5 s at least or until the command ends.
type input struct {
	Session int    `json:"session_id"`
	Chars   string `json:"chars"`
	YieldMS int    `json:"yield_time_ms,omitempty"`
}

// function is a call of a function, whose arguments are JSON.
func function(t *testing.T, name string, arguments any) item {
	t.Helper()
	data, err := json.Marshal(arguments)
	if err != nil {
		t.Fatal(err)
	}
	return item{Type: "function_call", Name: name, Arguments: string(data)}
}

// patch is a call of apply_patch, whose only argument is a text.
func patch(lines ...string) item {
	text := "*** Begin Patch\n" + strings.Join(lines, "\n") + "\n*** End Patch"
	return item{Type: "custom_tool_call", Name: "apply_patch", Input: text}
}

// message is a text, with which a turn ends.
func message(text string) item {
	return item{
		Type: "message", ID: "msg_1", Role: "assistant",
		Content: []any{map[string]string{"type": "output_text", "text": text}},
	}
}

// output is what a tool has returned.
type output struct {
	Type   string          `json:"type"`
	CallID string          `json:"call_id"`
	Output json.RawMessage `json:"output"`
}

// text returns an output that is a text, or else its JSON.
func (o output) text() string {
	var text string
	if json.Unmarshal(o.Output, &text) != nil {
		return string(o.Output)
	}
	return text
}

// outputOf finds what a call has returned.
func (r request) outputOf(callID string) (output, error) {
	for _, data := range r.Input {
		var o output
		if json.Unmarshal(data, &o) == nil && o.CallID == callID && strings.HasSuffix(o.Type, "_output") {
			return o, nil
		}
	}
	return output{}, fmt.Errorf("the agent returns nothing for the call %s", callID)
}

// result is what exec_command and write_stdin tell about a command.
type result struct {
	said    string // all of it
	output  string // of the command
	session int    // while it runs
	ended   bool
	code    int // once it has ended
}

var (
	sessionPattern = regexp.MustCompile(`(?m)^Process running with session ID (\d+)$`)
	codePattern    = regexp.MustCompile(`(?m)^Process exited with code (-?\d+)$`)
)

// parseResult takes a text apart: lines about the command, and then its output.
func parseResult(said string) result {
	r := result{said: said}
	head, output, _ := strings.Cut(said, "\nOutput:\n")
	r.output = output
	if m := sessionPattern.FindStringSubmatch(head); m != nil {
		r.session, _ = strconv.Atoi(m[1])
	}
	if m := codePattern.FindStringSubmatch(head); m != nil {
		r.ended = true
		r.code, _ = strconv.Atoi(m[1])
	}
	return r
}

func TestParseResult(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]result{
		"Chunk ID: 1\nProcess exited with code 7\nOutput:\nProcess running with session ID 1\n": {
			output: "Process running with session ID 1\n", ended: true, code: 7,
		},
		"Process running with session ID 42\nOutput:\n": {session: 42},
		"exec_command failed: no":                       {},
	} {
		want.said = said
		if got := parseResult(said); got != want {
			t.Errorf("%q: %+v", said, got)
		}
	}
}

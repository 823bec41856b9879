package agent

import (
	"bufio"
	"encoding/json"
	"io"
	"slices"
	"testing"
)

// Where an agent asks its user, codex exec has none: the test speaks to
// codex app-server, as an editor does, and is the user.

// userMessage is what the agent says to its user's program: an answer, a
// notification, or a question, which has both an id and a method.
type userMessage struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Result struct {
		Thread struct {
			ID string `json:"id"`
		} `json:"thread"`
	} `json:"result"`
	Params struct {
		Item struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"item"`
	} `json:"params"`
}

// converse has the agent make one turn, answers what it asks with the same
// decision each time, and returns when the agent has ended its output.
func (c *codex) converse(in io.WriteCloser, out io.Reader, folder string, s setting) {
	defer func() { _ = in.Close() }()
	send := func(message map[string]any) { _ = json.NewEncoder(in).Encode(message) } // an agent that is gone says no more
	call := func(id int, method string, params map[string]any) {
		send(map[string]any{"id": id, "method": method, "params": params})
	}
	client := map[string]any{"name": "airlock-test", "title": "airlock-test", "version": "1"}
	call(1, "initialize", map[string]any{"clientInfo": client, "capabilities": map[string]any{"experimentalApi": true}})
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		c.events.Write(append(slices.Clone(lines.Bytes()), '\n'))
		var m userMessage
		if json.Unmarshal(lines.Bytes(), &m) != nil {
			continue
		}
		switch {
		case m.Method != "" && m.ID != nil:
			c.questions = append(c.questions, m.Method)
			send(map[string]any{"id": m.ID, "result": map[string]any{"decision": s.decision}})
		case m.Method == "item/completed" && m.Params.Item.Type == "agentMessage":
			c.told = m.Params.Item.Text
		case m.Method == "turn/completed":
			_ = in.Close()
		case string(m.ID) == "1":
			send(map[string]any{"method": "initialized", "params": map[string]any{}})
			call(2, "thread/start", map[string]any{"cwd": folder, "sandbox": s.sandbox, "approvalPolicy": "on-request"})
		case string(m.ID) == "2":
			call(3, "turn/start", map[string]any{"threadId": m.Result.Thread.ID, "input": []any{map[string]any{"type": "text", "text": "go"}}})
		}
	}
}

// asksOnce ends the turn and fails the test unless its user has been asked one
// question.
func (u *turn) asksOnce(question string) {
	u.t.Helper()
	u.end()
	if got := u.agent.questions; !slices.Equal(got, []string{question}) {
		u.t.Errorf("the user is asked %q, not once %s", got, question)
	}
}

// decided is a turn in the mode workspace-write whose user always says the same.
// The temporary folder, in which all is, may not be written to but for the workspace.
func decided(decision string) setting {
	return setting{
		sandbox: "workspace-write", decision: decision, env: plainShell, config: workspaceOnly,
		files: map[string]string{"file": "one\n"},
	}
}

func workspaceOnly(string) string {
	return "\n[sandbox_workspace_write]\nexclude_slash_tmp = true\nexclude_tmpdir_env_var = true\n"
}

// TestEscalation: a command that asks to leave the sandbox is run outside if the user
// lets it, and not at all otherwise; the next one is in the sandbox again.
func TestEscalation(t *testing.T) {
	for _, decision := range []string{"accept", "decline"} {
		t.Run(decision, func(t *testing.T) {
			outside := t.TempDir()
			overNetwork(t, decided(decision), func(t *testing.T, u *turn) {
				r := u.run(command{Cmd: "touch " + outside + "/asked && echo made", Permissions: "require_escalated", Justification: "May I?"})
				if decision == "accept" {
					u.expect(r, 0, "made\n")
				}
				again := u.run(command{Cmd: "touch " + outside + "/unasked"})
				if again.code != 1 {
					t.Errorf("the next command: %q", again.said)
				}
				if made := len(list(t, outside)); made == 1 != (decision == "accept") || made > 1 {
					t.Errorf("outside there is %q; the command: %q", list(t, outside), r.said)
				}
				u.asksOnce("item/commandExecution/requestApproval")
			})
		})
	}
}

// TestPatchOutside: so is a patch of what is outside.
func TestPatchOutside(t *testing.T) {
	for _, decision := range []string{"accept", "decline"} {
		t.Run(decision, func(t *testing.T) {
			outside := t.TempDir()
			overNetwork(t, decided(decision), func(t *testing.T, u *turn) {
				said := u.patch("*** Add File: "+outside+"/new", "+hello")
				if made := len(list(t, outside)); made == 1 != (decision == "accept") {
					t.Errorf("outside there is %q; the tool says %q", list(t, outside), said)
				}
				u.asksOnce("item/fileChange/requestApproval")
			})
		})
	}
}

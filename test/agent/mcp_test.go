package agent

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
)

// mcpArgument has this program serve MCP on standard input and output.
const mcpArgument = "serve-mcp"

// mcpRequest is a request to an MCP server, or a notification.
type mcpRequest struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		ProtocolVersion string `json:"protocolVersion"`
	} `json:"params"`
}

// answerMCP answers as a server that has one tool, hello, which returns a text.
func answerMCP(r mcpRequest, text string) map[string]any {
	result := map[string]any{}
	switch r.Method {
	case "initialize":
		result["protocolVersion"] = r.Params.ProtocolVersion
		result["capabilities"] = map[string]any{"tools": map[string]any{}}
		result["serverInfo"] = map[string]any{"name": "test", "version": "1"}
	case "tools/list":
		schema := map[string]any{"type": "object", "properties": map[string]any{}}
		result["tools"] = []any{map[string]any{"name": "hello", "description": "Says hello.", "inputSchema": schema}}
	case "tools/call":
		result["content"] = []any{map[string]any{"type": "text", "text": text}}
	}
	return map[string]any{"jsonrpc": "2.0", "id": r.ID, "result": result}
}

// serveMCP serves until its input ends. The tool tells where it runs, and a lot
// more, so that it does not fit into one message.
func serveMCP(in io.Reader, out io.Writer) {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		var r mcpRequest
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil || r.ID == nil {
			continue
		}
		folder, _ := os.Getwd()
		_ = json.NewEncoder(out).Encode(answerMCP(r, "hello from "+folder+strings.Repeat(".", 100_000)))
	}
}

// hello has the agent call the tool of its MCP server.
func (u *turn) hello() string {
	u.t.Helper()
	hello := function(u.t, "hello", struct{}{})
	hello.Namespace = "mcp__test"
	return u.call(hello).text()
}

// TestMCPOverPipes: an MCP server is a program that runs where the executor is.
func TestMCPOverPipes(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	config := func(workspace string) string {
		return fmt.Sprintf("[mcp_servers.test]\ncommand = %q\nargs = [%q]\ncwd = %q\nenvironment_id = %q\nrequired = true\n",
			program, mcpArgument, workspace, environmentID)
	}
	everyWay(t, setting{config: config}, func(t *testing.T, u *turn) {
		if said := u.hello(); !strings.Contains(said, "hello from "+u.workspace+strings.Repeat(".", 1000)) {
			t.Errorf("the tool says %.500q", said)
		}
	})
}

// mcpSite is an MCP server that is spoken to by HTTP. It answers requests at once,
// and has nothing to say by itself.
func mcpSite(w http.ResponseWriter, r *http.Request) {
	var asked mcpRequest
	switch {
	case r.Method != http.MethodPost:
		w.WriteHeader(http.StatusMethodNotAllowed)
	case json.NewDecoder(r.Body).Decode(&asked) != nil:
		w.WriteHeader(http.StatusBadRequest)
	case asked.ID == nil:
		w.WriteHeader(http.StatusAccepted)
	default:
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answerMCP(asked, "hello from "+r.Host))
	}
}

// TestMCPOverHTTP: it is the executor that makes the requests to an MCP server.
// Only with its proxy can the server be reached: the agent's own is the trap.
func TestMCPOverHTTP(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(mcpSite))
	t.Cleanup(site.Close)
	const host = "mcp.invalid"
	config := func(string) string {
		return fmt.Sprintf("[mcp_servers.test]\nurl = %q\nenvironment_id = %q\nrequired = true\n",
			"http://"+host+"/", environmentID)
	}
	env := []string{"HTTP_PROXY=" + site.URL, "http_proxy=" + site.URL}
	everyWay(t, setting{env: env, config: config}, func(t *testing.T, u *turn) {
		if said := u.hello(); !strings.Contains(said, "hello from "+host) {
			t.Errorf("the tool says %q", said)
		}
	})
}

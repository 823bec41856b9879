package agent

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// codex is a running Codex agent.
type codex struct {
	cmd    *exec.Cmd
	events bytes.Buffer  // what it prints: a JSON object a line
	stderr bytes.Buffer  // what it logs
	ended  chan struct{} // closed when it has; only then may the rest be looked at

	// Of an agent that has a user:
	questions []string // what it has asked
	told      string   // what it has said last
}

// config is the configuration of an agent that asks nobody but its model. That
// model is one that gets its tools one by one.
const config = `
model = "gpt-5.5"
model_provider = "test"
web_search = "disabled"
check_for_update_on_startup = false
[analytics]
enabled = false
[features]
plugins = false
apps = false
[model_providers.test]
name = "test"
base_url = %q
wire_api = "responses"
env_key = "TEST_MODEL_KEY"
request_max_retries = 0
stream_max_retries = 0
`

// startCodex has an agent begin a turn in a folder. It is killed at the end of
// the test if it still runs; what it logs is shown if the test has failed.
func startCodex(t *testing.T, m *model, p place, s setting, workspace string, env []string) *codex {
	t.Helper()
	home := t.TempDir()
	text := fmt.Sprintf(config, m.url)
	if s.config != nil {
		text += s.config(workspace)
	}
	write(t, filepath.Join(home, "config.toml"), text)
	if p.environments != "" {
		write(t, filepath.Join(home, "environments.toml"), p.environments)
	}
	c := &codex{ended: make(chan struct{})}
	mode := []string{"--sandbox", cmp.Or(s.sandbox, "danger-full-access")}
	if s.profile != "" {
		mode = []string{"--config", fmt.Sprintf("default_permissions=%q", s.profile)}
	}
	folder := filepath.Join(workspace, s.dir)
	args := slices.Concat([]string{"exec", "--json", "--skip-git-repo-check", "--cd", folder}, mode, []string{"go"})
	if s.decision != "" {
		args = []string{"app-server"}
	}
	c.cmd = exec.Command(agentProgram, args...)
	own := []string{"CODEX_HOME=" + home, "TEST_MODEL_KEY=none"}
	c.cmd.Env = slices.Concat(agentEnvironment(), own, p.env, env)
	c.cmd.Stderr = &c.stderr
	c.cmd.WaitDelay = time.Second
	converse := func() {}
	if s.decision != "" {
		in, inErr := c.cmd.StdinPipe()
		out, outErr := c.cmd.StdoutPipe()
		if err := errors.Join(inErr, outErr); err != nil {
			t.Fatal(err)
		}
		converse = func() { c.converse(in, out, folder, s) }
	} else {
		c.cmd.Stdout = &c.events
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		converse()
		_ = c.cmd.Wait()
		close(c.ended)
	}()
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill()
		<-c.ended
		if t.Failed() {
			t.Logf("events of the agent:\n%s\nits log:\n%s", c.events.String(), c.stderr.String())
		}
	})
	return c
}

// agentEnvironment is ours, without what would point an agent elsewhere.
func agentEnvironment() []string {
	var env []string
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "CODEX_") && !strings.HasPrefix(variable, "OPENAI_") {
			env = append(env, variable)
		}
	}
	return env
}

// lastMessage returns what the agent has told its user last.
func (c *codex) lastMessage() string {
	text := c.told
	for line := range bytes.Lines(c.events.Bytes()) {
		var e struct {
			Type string `json:"type"`
			Item struct {
				Type string `json:"type"`
				Text string `json:"text"`
			} `json:"item"`
		}
		if json.Unmarshal(line, &e) == nil && e.Type == "item.completed" && e.Item.Type == "agent_message" {
			text = e.Item.Text
		}
	}
	return text
}

// write makes a file, and the folders that it is in.
func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

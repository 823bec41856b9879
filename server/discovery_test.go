package server

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/airlock-exec/airlock/protocol"
)

// TestDiscovery asserts that a client is told of the configuration and the skills of
// the executor's user, and of those in a folder.
func TestDiscovery(t *testing.T) {
	home := t.TempDir()
	t.Setenv("CODEX_HOME", home)
	skill := filepath.Join(home, "skills", "s")
	if err := os.MkdirAll(skill, 0o755); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{
		filepath.Join(home, "config.toml"): "model = 'm'\nsecret = 's'\n",
		filepath.Join(skill, "SKILL.md"):   "---\nname: n\ndescription: d\n---\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w := dial(t, newServer(t, Config{})).open("")
	root, err := protocol.PathURIFromNative(home)
	if err != nil {
		t.Fatal(err)
	}
	params, err := json.Marshal(map[string]any{"cwd": root, "configPaths": [][]string{{"model"}}, "requirementsPaths": [][]string{}})
	if err != nil {
		t.Fatal(err)
	}
	answer := w.call(protocol.MethodEnvironmentConfigRead, string(params)).text
	if !strings.Contains(answer, `"toml":"model = \"m\"\n"`) || strings.Contains(answer, "secret") {
		t.Error(answer)
	}
	answer = w.call(protocol.MethodDiscoverCapabilities, `{"cwd":"file:///"}`).text
	if !strings.Contains(answer, `"name":"n","description":"d"`) {
		t.Error(answer)
	}
	answer = w.call(protocol.MethodDiscoverRoots, `{"roots":[{"id":"r","path":"`+root.String()+`"},{"id":"none","path":"`+root.String()+`/none"}]}`).text
	if strings.Count(answer, "SKILL.md") != 1 || strings.Count(answer, `"error":"failed to inspect capability root`) != 1 {
		t.Error(answer)
	}
}

// TestDiscoverySwitchedOff asserts that what tells of the executor's user can be
// switched off, and that this is said.
func TestDiscoverySwitchedOff(t *testing.T) {
	t.Parallel()
	for name, method := range map[string]string{
		protocol.CapabilityEnvironmentConfigRead: protocol.MethodEnvironmentConfigRead,
		protocol.CapabilityDiscoveryV2:           protocol.MethodDiscoverCapabilities,
	} {
		w := dial(t, newServer(t, Config{Disable: []string{name}})).open("")
		w.want(method, `{}`, `{"error":{"code":-32601,"message":"exec-server stub does not implement `+"`"+method+"`"+` yet"}}`)
		if info := w.call(protocol.MethodEnvironmentInfo, `{}`).text; !strings.Contains(info, `"`+name+`":false`) || strings.Count(info, `Read":true`)+strings.Count(info, `V2":true`) != 1 {
			t.Error(info)
		}
	}
}

// TestDiscoveryGates asserts how the methods are called in errors of the handshake.
func TestDiscoveryGates(t *testing.T) {
	t.Parallel()
	w := dial(t, newServer(t, Config{}))
	for method, family := range map[string]string{
		protocol.MethodEnvironmentConfigRead + ` {"cwd":"file:///","configPaths":[],"requirementsPaths":[]}`: "environment config",
		protocol.MethodDiscoverRoots + ` {"roots":[]}`:                                                       "capability discovery",
		protocol.MethodDiscoverCapabilities + ` {"cwd":"file:///"}`:                                          "capability discovery",
	} {
		method, params, _ := strings.Cut(method, " ")
		if answer := w.call(method, params).text; !strings.Contains(answer, "client must call initialize before using "+family+" methods") {
			t.Error(answer)
		}
	}
}

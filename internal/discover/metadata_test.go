package discover

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
)

func TestParseMetadata(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", limits.SkillTextRunes+1)
	tools := func(tools ...protocol.SkillTool) *protocol.SkillDependencies {
		return &protocol.SkillDependencies{Tools: tools}
	}
	for _, test := range []struct {
		text         string
		dependencies *protocol.SkillDependencies
		policy       *protocol.SkillPolicy
	}{
		{"interface:\n  display_name: x\n", nil, nil},
		{"policy:\ndependencies:\n", nil, nil},
		{"policy: {}\ndependencies: {tools: []}\n", nil, &protocol.SkillPolicy{}},
		{
			"policy:\n  allow_implicit_invocation: False\n  products: [CODEX, atlas]\n", nil,
			&protocol.SkillPolicy{AllowImplicitInvocation: new(false), Products: []string{"codex", "atlas"}},
		},
		{
			"dependencies:\n  tools:\n  - type: t\n    value: v\n  - {type: '', value: v}\n  - type: t\n  - value: " + long + "\n    type: t\n",
			tools(protocol.SkillTool{Type: "t", Value: "v"}), nil,
		},
		{
			"dependencies:\n  tools:\n  - type: t\n    value: v\n    description: ' a  b '\n    transport: ''\n    command: " + long + "\n    url: 3\n    oauth:\n      callback_port: 65535\n",
			tools(protocol.SkillTool{Type: "t", Value: "v", Description: new("a b"), URL: new("3"), OAuthCallbackPort: new(uint16(65535))}), nil,
		},
		{
			"dependencies:\n  tools:\n  - {type: t, value: v, oauth: {callbackPort: 1}}\n  - {type: t, value: v, oauth: {}}\n",
			tools(protocol.SkillTool{Type: "t", Value: "v", OAuthCallbackPort: new(uint16(1))}, protocol.SkillTool{Type: "t", Value: "v"}), nil,
		},
	} {
		dependencies, policy, err := parseMetadata(test.text)
		if err != nil {
			t.Errorf("%q: %v", test.text, err)
			continue
		}
		if diff := cmp.Diff(test.dependencies, dependencies); diff != "" {
			t.Errorf("%q: %s", test.text, diff)
		}
		if diff := cmp.Diff(test.policy, policy); diff != "" {
			t.Errorf("%q: %s", test.text, diff)
		}
	}
}

// TestParseMetadataErrors asserts that metadata count for nothing if a part makes no
// sense: half a policy may be none.
func TestParseMetadataErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"x": "it has no members", "- x": "it has no members", "\t": "", "a: b\n\tc: d": "line 2",
		"policy: x": "policy: it has no members", "policy:\n  products: x": "policy: it has no elements",
		"policy:\n  products: [codex, x]": "a product is not known", "policy:\n  products: [[codex]]": "a product is not known",
		"policy:\n  allow_implicit_invocation: yes": "true or false", "policy:\n  allow_implicit_invocation: 'true'": "true or false",
		"dependencies: x": "dependencies: it has no members", "dependencies:\n  tools: x": "it has no elements",
		"dependencies:\n  tools: [x]":                                            "it has no members",
		"dependencies:\n  tools: [{type: [], value: v}]":                         "it is no text",
		"dependencies:\n  tools: [{url: {}}]":                                    "it is no text",
		"dependencies:\n  tools: [{oauth: x}]":                                   "it has no members",
		"dependencies:\n  tools: [{oauth: {callbackPort: 65536}}]":               "is no port",
		"dependencies:\n  tools: [{oauth: {callback_port: '1'}}]":                "is no port",
		"dependencies:\n  tools: [{oauth: {callbackPort: []}}]":                  "is no port",
		"dependencies:\n  tools: [{oauth: {callbackPort: 1, callback_port: 1}}]": "given twice",
	} {
		dependencies, policy, err := parseMetadata(text)
		if err == nil || !strings.Contains(err.Error(), want) || dependencies != nil || policy != nil {
			t.Errorf("%q: %+v, %+v, error %v, want %q", text, dependencies, policy, err, want)
		}
	}
}

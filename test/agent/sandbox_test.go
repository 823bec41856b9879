package agent

import (
	"strings"
	"testing"
)

// TestSandboxIsRefused: an agent in its own modes asks for a sandbox, and there is
// none. The model is told so, and nothing is run or changed.
func TestSandboxIsRefused(t *testing.T) {
	for mode, patchFails := range map[string]string{
		"read-only":       "patch rejected: writing is blocked by read-only sandbox",
		"workspace-write": "Failed to write file",
	} {
		t.Run(mode, func(t *testing.T) {
			overNetwork(t, setting{sandbox: mode, files: map[string]string{"file": "one\n"}}, func(t *testing.T, u *turn) {
				r := u.run(command{Cmd: "touch made"})
				if !strings.Contains(r.said, "sandbox intent cannot be enforced on this executor") {
					t.Errorf("a command: %q", r.said)
				}
				if said := u.patch("*** Update File: file", "@@", "-one", "+two"); !strings.Contains(said, patchFails) {
					t.Errorf("a patch: %q", said)
				}
				u.expectFiles(map[string]string{"file": "one\n"}, "made")
			})
		})
	}
}

package spawn

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// To a program it makes no difference whether it has limits, except that it has
// them: what holds for all programs holds for those that the helper executes.
func TestWithinLimits(t *testing.T) {
	t.Parallel()
	if os.Getenv(limitsVariable) != "" {
		t.Skip("all tests have limits")
	}
	needGroups(t)
	tests := []string{
		"TestStartErrors", "TestSearch", "TestRunsWhatWasJustWritten", "TestRefusesBusyFile",
		"TestEnvironmentIsVerbatim", "TestArguments", "TestDescriptors", "TestSession", "TestSignalState",
		"TestLimitsAndMask", "TestDeathOfParent", "TestKill", "TestKillKeepsTail", "TestKillAfterExit",
		"TestInterrupt", "TestStress", "TestClose", "TestFileLimit", "TestSignal", "TestResize",
	}
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^("+strings.Join(tests, "|")+")$", "-test.v")
	cmd.Env = append(os.Environ(), limitsVariable+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, test := range tests {
		if !strings.Contains(string(out), "--- PASS: "+test+" ") {
			t.Errorf("%s has not passed", test)
		}
	}
}

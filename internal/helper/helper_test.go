package helper

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// unhooked is the name under which the test binary does not call RunIfHelper.
const unhooked = "airlock-test-unhooked"

func TestMain(m *testing.M) {
	if os.Args[0] == unhooked {
		_, _, err := Command("x")
		fmt.Println(errors.Is(err, ErrNoHelper), err)
		return
	}
	RunIfHelper()
	os.Exit(m.Run())
}

func TestIsHelper(t *testing.T) {
	t.Parallel()
	for arg0, want := range map[string]bool{
		"airlock-helper": true, "/usr/lib/airlock-helper": true, "airlock-helper.exe": true,
		"": false, "airlock": false, "my-airlock-helper": false, "airlock-helper/airlock": false,
	} {
		if isHelper(arg0) != want {
			t.Errorf("isHelper(%q) is %v", arg0, !want)
		}
	}
}

// run executes the helper and returns the exit status and what it says.
func run(t *testing.T, path string, argv ...string) (status int, stderr string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), path)
	cmd.Args = argv
	var text strings.Builder
	cmd.Stderr = &text
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), text.String()
}

// This program is its own helper once it has called RunIfHelper, and what nobody
// should type says so.
func TestMisuse(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args []string
		want string
	}{
		{nil, "a subcommand is missing"},
		{[]string{"un\nheard-of"}, `there is no subcommand "un\nheard-of"`},
		{[]string{"warden", "now"}, "warden takes no arguments"},
		{[]string{"warden"}, "warden needs a pipe from the daemon"},
		{[]string{"exec", "/bin/true"}, "exec takes no arguments"},
		{[]string{"exec"}, "exec needs a plan and a pipe from the daemon"},
		{[]string{"sandbox"}, "sandbox needs a socket from the daemon"},
		{[]string{"stage"}, "stage needs a socket from the helper"},
	} {
		path, argv, err := Command(test.args...)
		if runtime.GOOS != "linux" {
			if !errors.Is(err, errors.ErrUnsupported) {
				t.Errorf("Command: %v", err)
			}
			continue
		}
		if err != nil || !slices.Equal(argv, append([]string{"airlock-helper"}, test.args...)) {
			t.Fatalf("Command(%q): %q, %v", test.args, argv, err)
		}
		status, text := run(t, path, argv...)
		want := "airlock-helper: " + test.want + ". This program is executed by airlock, not by hand.\n"
		if status != exitUsage || text != want {
			t.Errorf("%q: exit status %d, %q; want %d, %q", test.args, status, text, exitUsage, want)
		}
	}
}

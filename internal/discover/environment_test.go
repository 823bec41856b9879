//go:build unix

package discover

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/airlock-exec/airlock/protocol"
)

func TestEnvironment(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", "/home/somebody who is not there")
	t.Setenv("TMPDIR", dir)
	t.Setenv("SHELL", "/bin/zsh") // is not asked where there is an account database
	t.Chdir(dir)
	info := Environment("1.2.3", []string{"takeover"})
	if got := info.UserHomeDir.String(); got != "file:///home/somebody%20who%20is%20not%20there" {
		t.Errorf("home %s", got)
	}
	if native, err := info.TempDir.Native(); err != nil || native != dir {
		t.Errorf("temporary directory %s, error %v", native, err)
	}
	if diff := cmp.Diff([]string{info.TempDir.String()}, []string{info.TemporaryDirectories[0].String()}); diff != "" {
		t.Error(diff)
	}
	if !regexp.MustCompile(`^sha256:[0-9a-f]{64}$`).MatchString(info.ProviderID) {
		t.Errorf("provider %s", info.ProviderID)
	}
	if again := Environment("other", nil).ProviderID; again != info.ProviderID {
		t.Errorf("provider %s, then %s", info.ProviderID, again)
	}
	if info.ExecutorVersion != protocol.CompatibleVersion || info.Airlock.Version != "1.2.3" ||
		!slices.Equal(info.Airlock.Features, []string{"takeover"}) {
		t.Errorf("version %s, %+v", info.ExecutorVersion, info.Airlock)
	}
	// What there is, and nothing else.
	if info.Capabilities != (protocol.Capabilities{
		FSWatchMissing: true, CapabilityDiscoveryV2: true, EnvironmentConfigRead: true,
		HTTPHeaderEnvVars: true, FileWriteStreaming: true,
	}) {
		t.Errorf("capabilities %+v", info.Capabilities)
	}
	if info.Shell.Name == "" || info.Shell.Path == "" {
		t.Errorf("shell %+v", info.Shell)
	}
}

func TestEnvironmentWithoutVariables(t *testing.T) {
	for _, name := range []string{"HOME", "TMPDIR"} {
		t.Setenv(name, "") // restored after the test
		if err := os.Unsetenv(name); err != nil {
			t.Fatal(err)
		}
	}
	info := Environment("", nil)
	if info.UserHomeDir != nil || len(info.TemporaryDirectories) != 0 || info.TempDir.String() != "file:///tmp" {
		t.Errorf("%+v", info)
	}
	encoded, err := protocol.Encode(&info)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := protocol.Decode[protocol.EnvironmentInfo](encoded); err != nil {
		t.Error(err)
	}
}

func TestShellName(t *testing.T) {
	for path, want := range map[string]string{"/bin/bash": "bash", "/usr/bin/zsh": "zsh", "cmd.exe": "cmd"} {
		if got := shellName(path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

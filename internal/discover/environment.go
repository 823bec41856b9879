// Package discover tells clients about the host that the executor runs on.
package discover

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/airlock-exec/airlock/internal/environ"
	"github.com/airlock-exec/airlock/protocol"
)

// Environment describes this host, from the executor's own environment. Version
// is Airlock's own; features are the additions of package protocol that it has.
func Environment(version string, features []string) protocol.EnvironmentInfo {
	shell := environ.LoginShell()
	info := protocol.EnvironmentInfo{
		Shell:                protocol.Shell{Name: shellName(shell), Path: shell},
		ExecutorVersion:      protocol.CompatibleVersion,
		ProviderID:           providerID(),
		PlatformOS:           platformOS(),
		PrependPathDirs:      []protocol.PathURI{},
		TemporaryDirectories: temporaryDirectories(),
		TempDir:              uri(os.TempDir()),
		Capabilities: protocol.Capabilities{
			FSWatchMissing:        true,
			CapabilityDiscoveryV2: true,
			EnvironmentConfigRead: true,
			HTTPHeaderEnvVars:     true,
			FileWriteStreaming:    true,
		},
		Airlock: &protocol.AirlockInfo{Version: version, Features: features},
	}
	if dir, err := os.Getwd(); err == nil {
		info.CWD = new(uri(dir))
	}
	if home, err := os.UserHomeDir(); err == nil && filepath.IsAbs(home) {
		info.UserHomeDir = new(uri(home))
	}
	return info
}

// uri converts a path of this host. Only absolute ones can be converted: others
// become the root, which exists everywhere.
func uri(path string) protocol.PathURI {
	u, err := protocol.PathURIFromNative(path)
	if err != nil {
		root, _ := protocol.PathURIFromNative(filepath.VolumeName(path) + string(filepath.Separator))
		return root
	}
	return u
}

// shellName is the name by which clients know a shell: the program's, without
// an extension.
func shellName(path string) string {
	name := filepath.Base(path)
	return strings.TrimSuffix(name, filepath.Ext(name))
}

func platformOS() string {
	if runtime.GOOS == "darwin" {
		return "macos"
	}
	return runtime.GOOS
}

// temporaryDirectories are those that the executor's environment names.
func temporaryDirectories() []protocol.PathURI {
	names := []string{"TMPDIR"}
	if runtime.GOOS == "windows" {
		names = []string{"TEMP", "TMP"}
	}
	dirs := []protocol.PathURI{}
	seen := map[string]bool{}
	for _, name := range names {
		dir := os.Getenv(name)
		if !filepath.IsAbs(dir) || seen[dir] {
			continue
		}
		seen[dir] = true
		dirs = append(dirs, uri(dir))
	}
	return dirs
}

// providerID is the same for every executor on a machine, and does not tell
// what it was made from.
func providerID() string {
	sum := sha256.Sum256([]byte("airlock provider id\x00" + machineID()))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// machineID identifies the machine as well as can be without privileges.
func machineID() string {
	for _, path := range []string{"/etc/machine-id", "/var/lib/dbus/machine-id"} {
		if id, err := os.ReadFile(path); err == nil && len(strings.TrimSpace(string(id))) > 0 {
			return strings.TrimSpace(string(id))
		}
	}
	name, err := os.Hostname()
	if err != nil {
		return runtime.GOOS
	}
	return name
}

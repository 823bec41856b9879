package discover

import (
	"os"
	"path/filepath"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/internal/turns"
)

// Config says where agents keep what is theirs on this host. A zero field means
// its default.
type Config struct {
	// CodexHome is the folder of the user's configuration, plugins and skills. The
	// default is $CODEX_HOME, or .codex in the user's home.
	CodexHome string
	// UserHome is the user's home. The default is $HOME, or what the system has in
	// its place.
	UserHome string
	// SystemDir is the folder of what the host's administrator has set. The default
	// is /etc/codex on Unix; other systems have none.
	SystemDir string
	// Confined does what has to be done in a confinement. Nil refuses that.
	Confined Confined
}

// Discoverer tells clients what agents find on this host: configuration, plugins
// and skills. It keeps nothing from one call to the next, and changes nothing. Its
// methods may be called at the same time.
type Discoverer struct {
	config Config
	turns  *turns.Turns // of calls with large answers
}

// New makes a Discoverer.
func New(config Config) *Discoverer {
	if config.UserHome == "" {
		config.UserHome, _ = os.UserHomeDir()
	}
	if config.CodexHome == "" {
		config.CodexHome = os.Getenv("CODEX_HOME")
	}
	if config.CodexHome == "" && config.UserHome != "" {
		config.CodexHome = filepath.Join(config.UserHome, ".codex")
	}
	if config.SystemDir == "" {
		config.SystemDir = systemDir
	}
	return &Discoverer{config: config, turns: turns.New(limits.DiscoveryRequests, limits.TurnPatience)}
}

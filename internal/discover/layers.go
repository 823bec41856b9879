package discover

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"unicode/utf8"

	"github.com/airlock-exec/airlock/internal/files/fault"
	"github.com/airlock-exec/airlock/internal/files/regular"
	"github.com/airlock-exec/airlock/internal/limits"
)

// layer is a file of configuration, or of requirements.
type layer struct {
	source string // as clients get to see it
	path   string
	table  table
	// beforeCloud: what clients know from elsewhere overrides it.
	beforeCloud bool
}

// loader reads files of configuration.
type loader struct{ left int64 } // bytes

// load reads a file. One that is missing has nil in place of its table, an empty
// one has none.
func (l *loader) load(path string) (table, error) {
	data, err := readFile(path, limits.ConfigFileBytes)
	switch {
	case isMissing(err):
		return nil, nil
	case errors.Is(err, regular.ErrNotRegular):
		return nil, fmt.Errorf("failed to read config file %s: path `%s` is not a file", path, path)
	case err != nil:
		return nil, fmt.Errorf("failed to read config file %s: %s", path, fault.Text(err))
	case !utf8.Valid(data):
		return nil, fmt.Errorf("failed to read config file %s: it is not UTF-8", path)
	}
	if l.left -= int64(len(data)); l.left < 0 {
		return nil, fmt.Errorf("%s: all files of configuration together have more than %d bytes", path, limits.ConfigBytes)
	}
	parsed, err := parseTOML(data)
	if err != nil {
		return nil, fmt.Errorf("%s:%w", path, err)
	}
	return parsed, nil
}

// loadLayers reads the configuration of agents that work in a folder, what counts
// most last, and the requirements, what counts most first.
func (d *Discoverer) loadLayers(ctx context.Context, home, cwd string) (config, requirements []layer, err error) {
	l := &loader{left: limits.ConfigBytes}
	read := func(source, dir, name string) layer {
		path := filepath.Join(dir, name)
		read := layer{source: fmt.Sprintf("%s (%s)", source, path), path: path}
		if err == nil && dir != "" {
			read.table, err = l.load(path)
		}
		return read
	}
	system := read("system", d.config.SystemDir, "config.toml")
	system.beforeCloud = true
	user := read("user", home, "config.toml")
	managed := read("legacy managed_config.toml", d.config.SystemDir, "managed_config.toml")
	required := read("", d.config.SystemDir, "requirements.toml")
	required.source, required.beforeCloud = required.path, true
	if err != nil {
		return nil, nil, err
	}
	trust, err := newTrust([]layer{system, user, managed})
	if err != nil {
		return nil, nil, err
	}
	projects, err := l.projects(ctx, trust, home, cwd)
	if err != nil {
		return nil, nil, err
	}
	demanded, err := legacyRequirements(managed)
	config = append([]layer{system, user}, projects...)
	return append(config, managed), []layer{required, demanded}, err
}

// legacyRequirements are what a managed configuration demands by what it sets.
func legacyRequirements(managed layer) (layer, error) {
	demanded := layer{source: managed.path, path: managed.path, table: table{}}
	for _, demand := range []struct {
		name, demands string
		values        map[string][]any
	}{
		{"approval_policy", "allowed_approval_policies", map[string][]any{
			"untrusted": {"untrusted"}, "on-failure": {"on-request"},
			"on-request": {"on-request"}, "never": {"never"},
		}},
		{"sandbox_mode", "allowed_sandbox_modes", map[string][]any{
			"read-only": {"read-only"}, "workspace-write": {"read-only", "workspace-write"},
			"danger-full-access": {"read-only", "danger-full-access"},
		}},
	} {
		value, set := managed.table[demand.name]
		text, _ := value.(string)
		allowed, known := demand.values[text]
		switch {
		case known:
			demanded.table[demand.demands] = allowed
		case set:
			return layer{}, fmt.Errorf("%s: `%s` has a value that Airlock does not know: %v", managed.path, demand.name, value)
		}
	}
	return demanded, nil
}

package discover

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
)

// ReadConfig reads what is asked for of the configuration that agents find on this
// host, and of what the host demands of them. Nothing else of the files is told.
func (d *Discoverer) ReadConfig(ctx context.Context, params *protocol.EnvironmentConfigReadParams) (*protocol.EnvironmentConfigReadResult, error) {
	if err := checkPaths(params.ConfigPaths, params.RequirementsPaths); err != nil {
		return nil, err
	}
	cwd, err := params.CWD.Native()
	if err != nil {
		return nil, protocol.Errorf(protocol.CodeInvalidParams, "%v", err)
	}
	done, err := d.turns.Take(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	home, err := d.codexHome()
	if err != nil {
		return nil, protocol.Errorf(protocol.CodeInternal, "failed to find Codex home: %v", err)
	}
	config, requirements, err := d.loadLayers(ctx, home, cwd)
	if err != nil {
		return nil, loadFault(err)
	}
	answer := &answer{left: limits.ConfigBytes}
	result := &protocol.EnvironmentConfigReadResult{
		CodexHomeDir: uri(home),
		Config:       answer.layers(config, params.ConfigPaths),
		Requirements: answer.layers(requirements, params.RequirementsPaths),
	}
	if answer.err != nil {
		return nil, loadFault(answer.err)
	}
	if filepath.IsAbs(d.config.UserHome) {
		result.UserHomeDir = new(uri(d.config.UserHome))
	}
	if name, err := os.Hostname(); err == nil {
		result.Hostname = &name
	}
	return result, nil
}

func loadFault(err error) error {
	return protocol.Errorf(protocol.CodeInternal, "failed to load executor-local config: %v", err)
}

// checkPaths checks what is asked for.
func checkPaths(lists ...[][]string) error {
	refuse := func(format string, args ...any) error {
		return protocol.Errorf(protocol.CodeInvalidParams, format, args...)
	}
	count := 0
	for _, paths := range lists {
		count += len(paths)
		for _, path := range paths {
			if len(path) == 0 {
				return refuse("TOML paths must contain at least one key segment")
			}
			if len(path) > limits.ConfigPathKeys {
				return refuse("a TOML path has %d key segments; the limit is %d", len(path), limits.ConfigPathKeys)
			}
		}
	}
	switch {
	case count == 0:
		return refuse("at least one config or requirements path is required")
	case count > limits.ConfigPaths:
		return refuse("%d config and requirements paths are asked for; the limit is %d", count, limits.ConfigPaths)
	}
	return nil
}

// codexHome returns the folder of the user's configuration, without symbolic links
// if it is there.
func (d *Discoverer) codexHome() (string, error) {
	if d.config.CodexHome == "" {
		return "", errors.New("neither CODEX_HOME nor HOME is set for the executor")
	}
	home, err := filepath.Abs(d.config.CodexHome)
	if err != nil {
		return "", err
	}
	return canonical(home), nil
}

// canonical resolves the symbolic links of a path, if it is there.
func canonical(path string) string {
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		return resolved
	}
	return path
}

// answer makes layers as they are told, until they are too much.
type answer struct {
	left int // bytes
	err  error
}

// layers returns what paths lead to in each of some files. Files of which there is
// nothing are left out.
func (a *answer) layers(files []layer, paths [][]string) protocol.ConfigLayers {
	told := protocol.ConfigLayers{}
	for _, file := range files {
		selected := selectPaths(file.table, paths)
		if len(selected) == 0 || a.err != nil {
			continue
		}
		text, err := encodeTOML(selected, a.left)
		if err != nil {
			a.err = fmt.Errorf("%s: %w", file.path, err)
		}
		a.left -= len(text)
		told.Layers = append(told.Layers, protocol.ConfigLayer{
			Source: file.source, BaseDir: uri(filepath.Dir(file.path)), TOML: text,
		})
		if file.beforeCloud {
			told.CloudInsertionIndex++
		}
	}
	return told
}

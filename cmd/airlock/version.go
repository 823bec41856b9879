package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/alecthomas/kong"
	"github.com/go-json-experiment/json"

	"github.com/airlock-exec/airlock/protocol"
)

// version is Airlock's version. Release builds set it by the linker
// (-X main.version=v1.2.3); others take it from what the go command knows.
var version string

func airlockVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

// versionCommand is `airlock version`.
type versionCommand struct {
	JSON bool `name:"json" help:"Print a JSON object."`
}

// Run prints the version.
func (c *versionCommand) Run(ctx *kong.Context) error {
	about := struct {
		Version      string `json:"version"`
		GoVersion    string `json:"goVersion"`
		OS           string `json:"os"`
		Arch         string `json:"arch"`
		CodexVersion string `json:"codexVersion"`
	}{airlockVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH, protocol.CompatibleVersion}
	if c.JSON {
		line, err := json.Marshal(&about)
		if err != nil {
			return fmt.Errorf("encoding the version: %w", err)
		}
		_, err = fmt.Fprintf(ctx.Stdout, "%s\n", line)
		return err
	}
	_, err := fmt.Fprintf(ctx.Stdout, "airlock %s (%s %s/%s), compatible with the exec-server of Codex %s\n",
		about.Version, about.GoVersion, about.OS, about.Arch, about.CodexVersion)
	return err
}

// versionFlag is `airlock --version`, which people try first.
type versionFlag bool

// BeforeReset prints the version before anything is missed on the command line.
func (versionFlag) BeforeReset(ctx *kong.Context) error {
	if err := new(versionCommand).Run(ctx); err != nil {
		return err
	}
	ctx.Exit(0)
	return nil
}

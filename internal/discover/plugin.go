package discover

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/airlock-exec/airlock/protocol"
)

// manifestFiles are where a plugin may have its manifest; the first counts.
var manifestFiles = []string{
	".codex-plugin/plugin.json", ".claude-plugin/plugin.json", ".cursor-plugin/plugin.json",
}

// Files of a plugin if its manifest names no others.
const (
	mcpFile  = ".mcp.json"
	appsFile = ".app.json"
)

// manifest reads the manifest of a folder, nil if that is no plugin.
func (b *bundle) manifest(dir protocol.PathURI) *protocol.CapabilityFile {
	for _, name := range manifestFiles {
		if path, err := join(dir, name); err == nil {
			if file := b.file(path); file != nil {
				return file
			}
		}
	}
	return nil
}

// namespaces returns the manifests of plugins that skills of a root may belong to:
// its own or else the nearest above it, then those of folders in it, in their
// order.
func (b *bundle) namespaces(root protocol.PathURI, native string, own *protocol.CapabilityFile, files []protocol.PathURI) []protocol.CapabilityFile {
	outer := own
	for _, dir := range ancestors(native) {
		if outer != nil {
			break
		}
		outer = b.manifest(dir)
	}
	var found []protocol.CapabilityFile
	if outer != nil {
		found = append(found, *outer)
	}
	candidates := map[string][]protocol.PathURI{} // by folder, the one that counts first
	var dirs []string
	for _, name := range manifestFiles {
		for _, file := range files {
			dir, isManifest := within(file, name)
			if spelled := dir.String(); isManifest && strings.TrimRight(spelled, "/") != strings.TrimRight(root.String(), "/") {
				candidates[spelled] = append(candidates[spelled], file)
				dirs = append(dirs, spelled)
			}
		}
	}
	slices.Sort(dirs)
	for _, dir := range slices.Compact(dirs) {
		for _, candidate := range candidates[dir] {
			if file := b.file(candidate); file != nil {
				found = append(found, *file)
				break
			}
		}
	}
	return found
}

// plugin reads the files that a manifest names.
func (b *bundle) plugin(root protocol.PathURI, manifest *protocol.CapabilityFile) *protocol.PluginFiles {
	plugin := &protocol.PluginFiles{Manifest: *manifest}
	members := objectOf([]byte(manifest.Contents))
	mcp := b.named(manifest, members, "mcpServers", mcpFile)
	apps := b.named(manifest, members, "apps", appsFile)
	if members["mcpServers"].Kind() != '{' {
		plugin.MCPConfig = b.relative(root, mcp)
	}
	plugin.AppsConfig = b.relative(root, apps)
	return plugin
}

// objectOf returns the members of a JSON object, none if the text is something
// else.
func objectOf(text []byte) map[string]jsontext.Value {
	var members map[string]jsontext.Value
	if json.Unmarshal(text, &members) != nil {
		return nil
	}
	return members
}

// textOf returns the text that a JSON value is.
func textOf(value jsontext.Value) (string, bool) {
	var text string
	isText := value.Kind() == '"' && json.Unmarshal(value, &text) == nil
	return text, isText
}

// named returns where a member of a manifest says that a file is, as names with
// slashes between from the plugin's folder; fallback if it says nothing that makes
// sense.
func (b *bundle) named(manifest *protocol.CapabilityFile, members map[string]jsontext.Value, member, fallback string) string {
	path, isText := textOf(members[member])
	if !isText {
		return fallback
	}
	rest, local := strings.CutPrefix(path, "./")
	if !local {
		b.warn("ignoring %s in %s: path must start with `./`", member, manifest.Path)
		return fallback
	}
	var names []string
	for name := range strings.SplitSeq(rest, "/") {
		if name == ".." {
			names = nil
			break
		}
		if name != "" && name != "." {
			names = append(names, name)
		}
	}
	local = filepath.IsLocal(filepath.FromSlash(strings.Join(names, "/"))) // and not by other separators
	if len(names) == 0 || !local {
		b.warn("ignoring %s in %s: path must remain below the capability root", member, manifest.Path)
		return fallback
	}
	return strings.Join(names, "/")
}

// relative reads a file by its names from a folder.
func (b *bundle) relative(dir protocol.PathURI, names string) *protocol.CapabilityFile {
	path, err := join(dir, names)
	if err != nil {
		b.warn("failed to inspect capability file %s in %s: %v", names, dir, err)
		return nil
	}
	return b.file(path)
}

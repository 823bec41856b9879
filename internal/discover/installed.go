package discover

import (
	"context"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
)

// Warnings that tell clients no more than that something is wrong.
const (
	metadataLost  = "some capability metadata could not be loaded; discovery may be incomplete"
	locationsLost = "some capability locations could not be resolved; discovery may be incomplete"
)

// Installed tells which plugins and skills are installed for the user, wherever the
// client works.
func (d *Discoverer) Installed(ctx context.Context, params *protocol.DiscoverCapabilitiesParams) (*protocol.DiscoverCapabilitiesResult, error) {
	over, err := d.turns.Take(ctx)
	if err != nil {
		return nil, err
	}
	defer over()
	done, err := d.confine(ctx, &Task{Sandbox: params.Sandbox})
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, protocol.Errorf(protocol.CodeInternal, "%s", wireText(err)) // whatever is wrong, as in the dialect
	case done != nil:
		return done.Installed, nil
	}
	return d.installed(ctx)
}

// installed does the same with what this program, or worker, can read.
func (d *Discoverer) installed(ctx context.Context) (*protocol.DiscoverCapabilitiesResult, error) {
	home, err := d.codexHome()
	if err != nil {
		return &protocol.DiscoverCapabilitiesResult{}, nil //nolint:nilerr // nothing can be installed
	}
	c := &collection{room: newRoom()}
	c.skills(ctx, protocol.CodexHomeSkills, filepath.Join(home, "skills"))
	if filepath.IsAbs(d.config.UserHome) {
		c.skills(ctx, protocol.UserAgentSkills, filepath.Join(d.config.UserHome, ".agents", "skills"))
	}
	if d.config.SystemDir != "" {
		c.skills(ctx, protocol.SystemSkills, filepath.Join(d.config.SystemDir, "skills"))
	}
	places, incomplete := installedPlugins(home)
	c.locationsLost = incomplete
	for _, place := range places {
		c.plugin(ctx, place)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return c.result(), nil
}

// collection is what has been found so far.
type collection struct {
	room          *room // in the answer
	found         protocol.DiscoverCapabilitiesResult
	metadataLost  bool
	locationsLost bool
}

func (c *collection) result() *protocol.DiscoverCapabilitiesResult {
	if c.locationsLost {
		c.found.Warnings = append(c.found.Warnings, locationsLost)
	}
	if c.metadataLost {
		c.found.Warnings = append(c.found.Warnings, metadataLost)
	}
	return &c.found
}

// scan looks into a folder. What it finds is not told as it is, so that it has room
// of its own; but for the files of a plugin.
func (c *collection) scan(ctx context.Context, dir string) (protocol.DiscoveredRoot, bool) {
	if ctx.Err() != nil {
		return protocol.DiscoveredRoot{}, false
	}
	b := newBundle(newRoom())
	root := scan(ctx, "", uri(dir), b)
	c.metadataLost = c.metadataLost || len(b.warnings) > 0 || b.cut
	return root, root.Error == nil
}

// skills adds those of a folder, which need not be there.
func (c *collection) skills(ctx context.Context, id protocol.DiscoveryRootID, dir string) {
	root, found := c.scan(ctx, dir)
	if !found {
		return
	}
	for _, skill := range c.summaries(&root) {
		skill.DiscoveryRoot = &protocol.DiscoveryRoot{ID: id, Path: root.Path}
		if c.fits(&skill) {
			c.found.Skills = append(c.found.Skills, skill)
		}
	}
}

// plugin adds a plugin with its skills.
func (c *collection) plugin(ctx context.Context, place pluginPlace) {
	root, found := c.scan(ctx, place.dir)
	if !found || root.Plugin == nil || objectOf([]byte(root.Plugin.Manifest.Contents)) == nil {
		c.metadataLost = true
		return
	}
	remote, known := place.remoteID()
	c.locationsLost = c.locationsLost || !known
	plugin := protocol.InstalledPlugin{
		ID:             place.name + "@" + place.marketplace,
		DisplayName:    displayName(&root.Plugin.Manifest),
		RemotePluginID: remote,
		Version:        new(place.version),
		Root:           root.Path,
		Files:          *root.Plugin,
	}
	inlineMCP(&plugin.Files)
	if !c.fits(&plugin) {
		return
	}
	for _, skill := range c.summaries(&root) {
		if c.fits(&skill) {
			plugin.Skills = append(plugin.Skills, skill)
		}
	}
	c.found.Plugins = append(c.found.Plugins, plugin)
}

// fits tells whether there is room for something in the answer.
func (c *collection) fits(what any) bool {
	encoded, err := protocol.Encode(what)
	if err == nil && c.room.takeBytes(int64(len(encoded))) {
		return true
	}
	c.metadataLost = true
	return false
}

// summaries returns what the skills of a root say of themselves.
func (c *collection) summaries(root *protocol.DiscoveredRoot) []protocol.InstalledSkill {
	spaces := namespacesOf(root.NamespaceManifests)
	var told []protocol.InstalledSkill
	for _, files := range root.Skills {
		skill, err := summarise(&files)
		if err != nil {
			c.metadataLost = true
			continue
		}
		if space := spaces.of(files.Instructions.Path); space != "" {
			skill.Name = space + ":" + skill.Name
		}
		if utf8.RuneCountInString(skill.Name) > 2*limits.SkillNameRunes+1 {
			c.metadataLost = true
			continue
		}
		told = append(told, skill)
	}
	return told
}

// displayName is how a plugin calls itself, for people.
func displayName(manifest *protocol.CapabilityFile) string {
	members := objectOf([]byte(manifest.Contents))
	shown, _ := textOf(objectOf(members["interface"])["displayName"])
	if shown = strings.TrimSpace(shown); shown != "" {
		return shown
	}
	return pluginName(manifest)
}

// inlineMCP makes a file of what the manifest has in itself.
func inlineMCP(files *protocol.PluginFiles) {
	servers := objectOf([]byte(files.Manifest.Contents))["mcpServers"]
	if servers.Kind() == '{' && servers.Compact() == nil {
		files.MCPConfig = &protocol.CapabilityFile{Path: files.Manifest.Path, Contents: string(servers)}
	}
}

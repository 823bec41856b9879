package discover

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/airlock-exec/airlock/internal/discover/yaml"
	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
)

// summarise returns what a skill says of itself: at the head of its instructions,
// and in its metadata, which count for nothing if they make no sense.
func summarise(files *protocol.SkillFiles) (protocol.InstalledSkill, error) {
	skill := protocol.InstalledSkill{Path: files.Instructions.Path}
	head, err := frontMatter(files.Instructions.Contents)
	if err != nil {
		return skill, err
	}
	if skill.Name, err = oneLine(head.Member("name")); err != nil {
		return skill, fmt.Errorf("name: %w", err)
	}
	if skill.Name == "" {
		skill.Name = oneLineOf(nameOf(skill.Path, skillFile))
	}
	if skill.Description, err = oneLine(head.Member("description")); err != nil {
		return skill, fmt.Errorf("description: %w", err)
	}
	short, err := shortDescription(head)
	switch {
	case err != nil:
		return skill, fmt.Errorf("metadata: %w", err)
	case skill.Description == "":
		return skill, errors.New("there is no description")
	case utf8.RuneCountInString(skill.Name) > limits.SkillNameRunes:
		return skill, fmt.Errorf("the name has more than %d characters", limits.SkillNameRunes)
	}
	skill.ShortDescription = short
	if files.Metadata != nil {
		skill.Dependencies, skill.Policy, _ = parseMetadata(files.Metadata.Contents)
	}
	return skill, nil
}

// frontMatter reads the YAML between two lines of dashes with which a text begins.
func frontMatter(text string) (*yaml.Node, error) {
	const dashes = "---"
	first, rest, _ := strings.Cut(text, "\n")
	if strings.TrimRight(first, " \t\r") != dashes {
		return nil, errors.New("it does not begin with a line ---")
	}
	var head strings.Builder
	for line := range strings.Lines(rest) {
		if strings.TrimRight(line, " \t\r\n") == dashes {
			return mapping(head.String())
		}
		head.WriteString(line)
	}
	return nil, errors.New("the head does not end with a line ---")
}

// mapping reads YAML that has members.
func mapping(text string) (*yaml.Node, error) {
	node, err := yaml.Parse(text)
	if err == nil && node.Kind != yaml.Mapping {
		err = errors.New("it has no members")
	}
	return node, err
}

func shortDescription(head *yaml.Node) (*string, error) {
	metadata, err := members(head.Member("metadata"))
	if metadata == nil || err != nil {
		return nil, err
	}
	short, err := oneLine(metadata.Member("short-description"))
	if short == "" || err != nil {
		return nil, err
	}
	return &short, nil
}

// nameOf is the name of the folder that a file is in by names.
func nameOf(file protocol.PathURI, names string) string {
	dir, _ := within(file, names)
	native, err := dir.Native()
	if err != nil {
		return ""
	}
	return path.Base(strings.ReplaceAll(native, `\`, "/"))
}

// oneLine returns the text of a scalar with its blanks as one each; "" if there is
// none.
func oneLine(node *yaml.Node) (string, error) {
	if node.IsNull() {
		return "", nil
	}
	if node.Kind != yaml.Scalar {
		return "", errors.New("it is no text")
	}
	return oneLineOf(node.Text), nil
}

func oneLineOf(text string) string { return strings.Join(strings.Fields(text), " ") }

// members returns a node that must have members, nil if there is none.
func members(node *yaml.Node) (*yaml.Node, error) {
	switch {
	case node.IsNull():
		return nil, nil
	case node.Kind != yaml.Mapping:
		return nil, errors.New("it has no members")
	}
	return node, nil
}

// elements returns those of a node that must have some, nil if there is none.
func elements(node *yaml.Node) ([]*yaml.Node, error) {
	switch {
	case node.IsNull():
		return nil, nil
	case node.Kind != yaml.Sequence:
		return nil, errors.New("it has no elements")
	}
	return node.Elements, nil
}

// namespace is a plugin that skills below its folder belong to.
type namespace struct{ dir, name string }

type namespaces []namespace

// namespacesOf takes namespaces from manifests; one that makes no sense has none.
func namespacesOf(manifests []protocol.CapabilityFile) namespaces {
	var spaces namespaces
	for _, manifest := range manifests {
		for _, name := range manifestFiles {
			dir, found := within(manifest.Path, name)
			if found && isManifest(&manifest) {
				spaces = append(spaces, namespace{dir.String(), pluginName(&manifest)})
			}
		}
	}
	// The innermost first.
	slices.SortStableFunc(spaces, func(a, b namespace) int { return len(b.dir) - len(a.dir) })
	return spaces
}

// of returns the namespace of a skill, "" if it has none.
func (s namespaces) of(skill protocol.PathURI) string {
	for _, space := range s {
		if strings.HasPrefix(skill.String(), space.dir) {
			return space.name
		}
	}
	return ""
}

// isManifest tells whether a text is an object, and its name a text if it has one.
func isManifest(manifest *protocol.CapabilityFile) bool {
	members := objectOf([]byte(manifest.Contents))
	_, isText := textOf(members["name"])
	return members != nil && (isText || members["name"] == nil)
}

// pluginName is the name in a manifest, or that of the plugin's folder.
func pluginName(manifest *protocol.CapabilityFile) string {
	if name, _ := textOf(objectOf([]byte(manifest.Contents))["name"]); strings.TrimSpace(name) != "" {
		return name
	}
	for _, file := range manifestFiles {
		if name := nameOf(manifest.Path, file); name != "" && name != "." {
			return name
		}
	}
	return ""
}

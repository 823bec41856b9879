package discover

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/airlock-exec/airlock/internal/discover/yaml"
	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
)

// products are those that a policy may name: clients take no others.
var products = []string{"codex", "chatgpt", "atlas"}

// parseMetadata reads the metadata of a skill: what it needs, and who may use it;
// nil if it does not say.
func parseMetadata(text string) (*protocol.SkillDependencies, *protocol.SkillPolicy, error) {
	node, err := mapping(text)
	if err != nil {
		return nil, nil, err
	}
	dependencies, err := parseDependencies(node.Member("dependencies"))
	if err != nil {
		return nil, nil, fmt.Errorf("dependencies: %w", err)
	}
	policy, err := parsePolicy(node.Member("policy"))
	if err != nil {
		return nil, nil, fmt.Errorf("policy: %w", err)
	}
	return dependencies, policy, nil
}

func parseDependencies(node *yaml.Node) (*protocol.SkillDependencies, error) {
	node, err := members(node)
	if node == nil || err != nil {
		return nil, err
	}
	tools, err := elements(node.Member("tools"))
	if err != nil {
		return nil, err
	}
	var dependencies protocol.SkillDependencies
	for _, element := range tools {
		tool, err := parseTool(element)
		if err != nil {
			return nil, err
		}
		if tool.Type != "" && tool.Value != "" {
			dependencies.Tools = append(dependencies.Tools, tool)
		}
	}
	if len(dependencies.Tools) == 0 {
		return nil, nil
	}
	return &dependencies, nil
}

// parseTool reads a tool; what is too long in it counts as not said.
func parseTool(node *yaml.Node) (tool protocol.SkillTool, err error) {
	if node, err = members(node); node == nil || err != nil {
		return tool, err
	}
	text := func(name string, most int) string {
		line, failure := oneLine(node.Member(name))
		err = errors.Join(err, failure)
		if utf8.RuneCountInString(line) > most {
			return ""
		}
		return line
	}
	optional := func(name string, most int) *string {
		if line := text(name, most); line != "" {
			return &line
		}
		return nil
	}
	tool = protocol.SkillTool{
		Type:        text("type", limits.SkillNameRunes),
		Value:       text("value", limits.SkillTextRunes),
		Description: optional("description", limits.SkillTextRunes),
		Transport:   optional("transport", limits.SkillNameRunes),
		Command:     optional("command", limits.SkillTextRunes),
		URL:         optional("url", limits.SkillTextRunes),
	}
	if err != nil {
		return tool, err
	}
	tool.OAuthCallbackPort, err = parsePort(node.Member("oauth"))
	return tool, err
}

// parsePort reads the port of an OAuth callback, which has two spellings.
func parsePort(node *yaml.Node) (*uint16, error) {
	node, err := members(node)
	if node == nil || err != nil {
		return nil, err
	}
	value := node.Member("callbackPort")
	if other := node.Member("callback_port"); value == nil {
		value = other
	} else if other != nil {
		return nil, errors.New("the port of the callback is given twice")
	}
	if value.IsNull() {
		return nil, nil
	}
	port, err := strconv.ParseUint(value.Text, 10, 16)
	if value.Kind != yaml.Scalar || value.Quoted || err != nil {
		return nil, errors.New("the port of the callback is no port")
	}
	return new(uint16(port)), nil
}

func parsePolicy(node *yaml.Node) (*protocol.SkillPolicy, error) {
	node, err := members(node)
	if node == nil || err != nil {
		return nil, err
	}
	policy := &protocol.SkillPolicy{}
	if value := node.Member("allow_implicit_invocation"); !value.IsNull() {
		allowed, isBool := value.Bool()
		if !isBool {
			return nil, errors.New("allow_implicit_invocation must be true or false")
		}
		policy.AllowImplicitInvocation = &allowed
	}
	named, err := elements(node.Member("products"))
	if err != nil {
		return nil, err
	}
	for _, element := range named {
		product := productOf(element)
		if product == "" {
			return nil, errors.New("a product is not known")
		}
		policy.Products = append(policy.Products, product)
	}
	return policy, nil
}

// productOf returns the name of a product, "" if it is not known.
func productOf(node *yaml.Node) string {
	for _, product := range products {
		if node.Kind == yaml.Scalar && strings.EqualFold(node.Text, product) {
			return product
		}
	}
	return ""
}

package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// helpCommand is `airlock help`, which people try instead of --help.
type helpCommand struct {
	Command []string `arg:"" optional:"" help:"The command that is asked about: \"fs ls\", say."`
}

// Run prints the same help as --help.
func (c *helpCommand) Run(ctx *kong.Context) error {
	if !isCommand(ctx.Model.Node, c.Command) {
		return fmt.Errorf("there is no command %q: `airlock help` lists those that there are", strings.Join(c.Command, " "))
	}
	// Printing ends the parsing by Exit.
	_, err := newParser(new(commandLine), ctx.Stdout, ctx.Stderr).Parse(append(slices.Clone(c.Command), "--help"))
	return err
}

// isCommand tells whether names lead from a node to one below it.
func isCommand(node *kong.Node, names []string) bool {
	if len(names) == 0 {
		return true
	}
	for _, child := range node.Children {
		if child.Name == names[0] || slices.Contains(child.Aliases, names[0]) {
			return isCommand(child, names[1:])
		}
	}
	return false
}

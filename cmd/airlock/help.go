package main

import (
	"fmt"
	"slices"

	"github.com/alecthomas/kong"
)

// helpCommand is `airlock help`, which people try instead of --help.
type helpCommand struct {
	Command string `arg:"" optional:"" help:"The command that is asked about."`
}

// Run prints the same help as --help.
func (c *helpCommand) Run(ctx *kong.Context) error {
	args := []string{"--help"}
	if c.Command != "" {
		if !isCommand(ctx.Model, c.Command) {
			return fmt.Errorf("there is no command %q: `airlock help` lists those that there are", c.Command)
		}
		args = []string{c.Command, "--help"}
	}
	// Printing ends the parsing by Exit.
	_, err := newParser(new(commandLine), ctx.Stdout, ctx.Stderr).Parse(args)
	return err
}

func isCommand(model *kong.Application, name string) bool {
	for _, node := range model.Children {
		if node.Name == name || slices.Contains(node.Aliases, name) {
			return true
		}
	}
	return false
}

package main

import (
	"io"
	"strings"

	"github.com/alecthomas/kong"
)

// completionCommand is `airlock completion`.
type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"The shell: bash (4 or newer), zsh or fish."`
}

// Help is printed between the summary and the flags.
func (*completionCommand) Help() string {
	return `To use it at once and in new shells, add to the shell's start-up file:

    bash  source <(airlock completion bash)
    zsh   source <(airlock completion zsh)      (behind "autoload -U compinit; compinit")
    fish  airlock completion fish | source`
}

// Run prints the script.
func (c *completionCommand) Run(ctx *kong.Context) error {
	script := map[string]func(completions) string{
		"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion,
	}[c.Shell]
	_, err := io.WriteString(ctx.Stdout, script(completionsOf(ctx.Model)))
	return err
}

// completions is what shells are told of the command line.
type completions struct {
	global   []completedFlag // before and behind every subcommand
	commands []completedCommand
}

type completedCommand struct {
	names []string // the name, then its aliases
	help  string
	flags []completedFlag // without those of what it belongs to
	// commands are those of a group, which itself is none.
	commands []completedCommand
	// unnamed: its name can be left out where -- comes before its arguments.
	unnamed bool
	// command: arguments are another command and its arguments.
	command bool
	// files: arguments are the names of some.
	files bool
	// choices are what the argument may be.
	choices []string
}

type completedFlag struct {
	short, long string // with their hyphens; short may be empty
	help        string
	value       string   // what the value is called; empty: the flag has none
	choices     []string // what the value may be
	files, dirs bool     // the value is the name of one
}

func (f *completedFlag) names() []string {
	if f.short == "" {
		return []string{f.long}
	}
	return []string{f.short, f.long}
}

// completionsOf takes what shells need from the parser's model.
func completionsOf(model *kong.Application) completions {
	return completions{global: completedFlags(model.Flags), commands: completedCommands(model.Node)}
}

func completedCommands(parent *kong.Node) []completedCommand {
	var all []completedCommand
	for _, node := range parent.Children {
		command := completedCommand{
			names:    append([]string{node.Name}, node.Aliases...),
			help:     firstSentence(node.Help),
			flags:    completedFlags(node.Flags),
			commands: completedCommands(node),
			unnamed:  parent.DefaultCmd == node,
		}
		for _, argument := range node.Positional {
			command.command = argument.Tag.Get("complete") == "command"
			command.files = command.files || argument.Tag.Get("complete") == "file"
			command.choices = choices(argument)
		}
		all = append(all, command)
	}
	return all
}

func completedFlags(flags []*kong.Flag) []completedFlag {
	var completed []completedFlag
	for _, flag := range flags {
		c := completedFlag{
			long:    "--" + flag.Name,
			help:    firstSentence(flag.Help),
			choices: choices(flag.Value),
			files:   flag.Tag.Get("complete") == "file",
			dirs:    flag.Tag.Get("complete") == "dir",
		}
		if flag.Short != 0 {
			c.short = "-" + string(flag.Short)
		}
		if !flag.IsBool() {
			c.value = flag.FormatPlaceHolder()
		}
		completed = append(completed, c)
	}
	return completed
}

// choices are the values that an enumeration allows, but for the empty one.
func choices(value *kong.Value) []string {
	if value.Enum == "" {
		return nil
	}
	var some []string
	for _, choice := range value.EnumSlice() {
		if choice != "" {
			some = append(some, choice)
		}
	}
	return some
}

// firstSentence returns the first sentence of a help text, without its stop.
func firstSentence(help string) string {
	sentence, _, _ := strings.Cut(help, ". ")
	return strings.TrimSuffix(sentence, ".")
}

// singleQuoted quotes a text for zsh. Fish reads it alike, as help texts have no
// backslashes.
func singleQuoted(text string) string {
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

package main

import (
	"fmt"
	"slices"
	"strings"
)

// fishCompletion returns a script for fish.
func fishCompletion(all completions) string {
	var b strings.Builder
	b.WriteString("# fish completion for airlock, made by: airlock completion fish\n\ncomplete -c airlock -f\n")
	for i := range all.global {
		writeFishFlag(&b, "", &all.global[i])
	}
	for i := range all.commands {
		f := fishCommand{completedCommand: all.commands[i], shown: "__fish_use_subcommand", inherited: all.global, words: 2}
		f.write(&b)
	}
	return b.String()
}

// fishCommand is a command with what it belongs to.
type fishCommand struct {
	completedCommand
	within    string          // the condition for being within what it belongs to; may be empty
	shown     string          // the condition for being proposed
	inherited []completedFlag // of what it belongs to
	words     int             // how many it takes to name it, our own name included
}

func (f *fishCommand) write(b *strings.Builder) {
	fmt.Fprintf(b, "\ncomplete -c airlock -n %s -a %s -d %s\n", fishCondition(f.shown), f.names[0], singleQuoted(f.help))
	seen := f.within + "__fish_seen_subcommand_from " + strings.Join(f.names, " ")
	condition := "-n " + fishCondition(seen) + " "
	for i := range f.flags {
		writeFishFlag(b, condition, &f.flags[i])
	}
	flags := slices.Concat(f.flags, f.inherited)
	switch {
	case f.command:
		// It skips our own name and the subcommand's, and the values of flags.
		var withValue []string
		for i := range flags {
			if flags[i].value != "" {
				withValue = append(withValue, flags[i].names()...)
			}
		}
		fmt.Fprintf(b, "complete -c airlock %s-a '(__fish_complete_subcommand --fcs-skip=%d %s)'\n",
			condition, f.words, strings.Join(withValue, " "))
	case f.files:
		fmt.Fprintf(b, "complete -c airlock %s-F\n", condition)
	case len(f.choices) > 0:
		fmt.Fprintf(b, "complete -c airlock %s-a %s\n", condition, singleQuoted(strings.Join(f.choices, " ")))
	}
	var names []string
	for _, child := range f.commands {
		names = append(names, child.names...)
	}
	for _, child := range f.commands {
		below := fishCommand{child, seen + "; and ", seen + "; and not __fish_seen_subcommand_from " + strings.Join(names, " "), flags, f.words + 1}
		below.write(b)
	}
}

// fishCondition quotes a condition, if it has more than one word.
func fishCondition(condition string) string {
	if strings.Contains(condition, " ") {
		return "'" + condition + "'"
	}
	return condition
}

func writeFishFlag(b *strings.Builder, condition string, flag *completedFlag) {
	fmt.Fprintf(b, "complete -c airlock %s", condition)
	if flag.short != "" {
		fmt.Fprintf(b, "-s %s ", flag.short[1:])
	}
	fmt.Fprintf(b, "-l %s ", flag.long[2:])
	switch {
	case len(flag.choices) > 0:
		fmt.Fprintf(b, "-x -a %s ", singleQuoted(strings.Join(flag.choices, " ")))
	case flag.files:
		b.WriteString("-r -F ")
	case flag.dirs:
		b.WriteString("-x -a '(__fish_complete_directories)' ")
	case flag.value != "":
		b.WriteString("-x ")
	}
	fmt.Fprintf(b, "-d %s\n", singleQuoted(flag.help))
}

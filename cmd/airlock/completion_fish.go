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
	for _, command := range all.commands {
		fmt.Fprintf(&b, "\ncomplete -c airlock -n __fish_use_subcommand -a %s -d %s\n",
			command.names[0], singleQuoted(command.help))
		condition := "-n '__fish_seen_subcommand_from " + strings.Join(command.names, " ") + "' "
		for i := range command.flags {
			writeFishFlag(&b, condition, &command.flags[i])
		}
		switch {
		case command.command:
			// It skips our own name and the subcommand's, and the values of flags.
			var withValue []string
			for _, flag := range slices.Concat(command.flags, all.global) {
				if flag.value != "" {
					withValue = append(withValue, flag.names()...)
				}
			}
			fmt.Fprintf(&b, "complete -c airlock %s-a '(__fish_complete_subcommand --fcs-skip=2 %s)'\n",
				condition, strings.Join(withValue, " "))
		case len(command.choices) > 0:
			fmt.Fprintf(&b, "complete -c airlock %s-a %s\n",
				condition, singleQuoted(strings.Join(command.choices, " ")))
		}
	}
	return b.String()
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

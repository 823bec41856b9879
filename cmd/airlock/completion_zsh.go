package main

import (
	"fmt"
	"slices"
	"strings"
)

// zshCompletion returns a script for zsh, to be sourced or put into $fpath as
// _airlock.
func zshCompletion(all completions) string {
	var b strings.Builder
	b.WriteString(zshStart)
	writeZshCommands(&b, "    ", all.global, all.commands)
	b.WriteString(zshEnd)
	return b.String()
}

// writeZshCommands writes what completes one of some commands. The flags are those
// of what they belong to.
func writeZshCommands(b *strings.Builder, indent string, flags []completedFlag, commands []completedCommand) {
	b.WriteString(indent + "subcommands=( # not commands, which is zsh's own\n")
	for _, command := range commands {
		description := strings.ReplaceAll(command.help, ":", `\:`)
		fmt.Fprintf(b, "%s    %s\n", indent, singleQuoted(command.names[0]+":"+description))
	}
	b.WriteString(indent + ")\n" + indent + "_arguments -C \\\n")
	writeZshFlags(b, indent+"    ", flags)
	for line := range strings.Lines(zshDispatch) {
		b.WriteString(indent + line)
	}
	for i := range commands {
		command := &commands[i]
		fmt.Fprintf(b, "%s            %s)\n", indent, strings.Join(command.names, "|"))
		all := slices.Concat(flags, command.flags)
		if len(command.commands) > 0 {
			writeZshCommands(b, indent+"                ", all, command.commands)
		} else {
			writeZshArguments(b, indent+"                ", all, command)
		}
		b.WriteString(indent + "                ;;\n")
	}
	b.WriteString(indent + "        esac\n" + indent + "        ;;\n" + indent + "esac\n")
}

// writeZshArguments writes what completes the flags and arguments of a command.
func writeZshArguments(b *strings.Builder, indent string, flags []completedFlag, command *completedCommand) {
	b.WriteString(indent + "_arguments -A '-*' \\\n")
	writeZshFlags(b, indent+"    ", flags)
	switch {
	case command.command:
		b.WriteString(indent + "    '*:: :->command'\n")
		for line := range strings.Lines(zshCommand) {
			b.WriteString(indent + line)
		}
	case command.files:
		b.WriteString(indent + "    '*:file:_files'\n")
	case len(command.choices) > 0:
		fmt.Fprintf(b, "%s    '1:argument:(%s)'\n", indent, strings.Join(command.choices, " "))
	default:
		b.WriteString(indent + "    && return\n")
	}
}

const zshStart = `#compdef airlock
# zsh completion for airlock, made by: airlock completion zsh

_airlock() {
    local curcontext=$curcontext state line
    typeset -A opt_args
    local -a subcommands
`

const zshDispatch = `    '1: :->command' \
    '*:: :->arguments'
case $state in
    command) _describe -t commands 'command' subcommands ;;
    arguments)
        case $line[1] in
`

// zshCommand completes another command, behind a -- or not.
const zshCommand = `if [[ $state == command ]]; then
    [[ $words[1] == -- ]] && shift words && ((CURRENT--))
    _normal
fi
`

const zshEnd = `}

if [[ $funcstack[1] == _airlock ]]; then
    _airlock "$@"
else
    compdef _airlock airlock
fi
`

// writeZshFlags writes a specification a line, each with a backslash for the
// lines to follow.
func writeZshFlags(b *strings.Builder, indent string, flags []completedFlag) {
	description := strings.NewReplacer("[", `\[`, "]", `\]`)
	for i := range flags {
		flag := &flags[i]
		value := ""
		switch {
		case len(flag.choices) > 0:
			value = ":" + flag.value + ":(" + strings.Join(flag.choices, " ") + ")"
		case flag.files:
			value = ":" + flag.value + ":_files"
		case flag.dirs:
			value = ":" + flag.value + ":_directories"
		case flag.value != "":
			value = ":" + flag.value + ":"
		}
		for _, name := range flag.names() {
			if flag.value != "" && name == flag.long {
				name += "="
			}
			spec := "*" + name + "[" + description.Replace(flag.help) + "]" + value
			fmt.Fprintf(b, "%s%s \\\n", indent, singleQuoted(spec))
		}
	}
}

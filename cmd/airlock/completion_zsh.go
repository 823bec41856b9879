package main

import (
	"fmt"
	"strings"
)

// zshCompletion returns a script for zsh, to be sourced or put into $fpath as
// _airlock.
func zshCompletion(all completions) string {
	var b strings.Builder
	b.WriteString(zshStart)
	for _, command := range all.commands {
		description := strings.ReplaceAll(command.help, ":", `\:`)
		fmt.Fprintf(&b, "        %s\n", singleQuoted(command.names[0]+":"+description))
	}
	b.WriteString("    )\n    _arguments -C \\\n")
	writeZshFlags(&b, "        ", all.global)
	b.WriteString(zshDispatch)
	for _, command := range all.commands {
		fmt.Fprintf(&b, "                %s)\n                    _arguments -A '-*' \\\n",
			strings.Join(command.names, "|"))
		const indent = "                        "
		writeZshFlags(&b, indent, all.global)
		writeZshFlags(&b, indent, command.flags)
		switch {
		case command.command:
			b.WriteString(indent + "'*:: :->command'" + zshCommand)
		case len(command.choices) > 0:
			fmt.Fprintf(&b, "%s'1:argument:(%s)'\n", indent, strings.Join(command.choices, " "))
		default:
			b.WriteString(indent + "&& return\n")
		}
		b.WriteString("                    ;;\n")
	}
	b.WriteString(zshEnd)
	return b.String()
}

const zshStart = `#compdef airlock
# zsh completion for airlock, made by: airlock completion zsh

_airlock() {
    local curcontext=$curcontext state line
    typeset -A opt_args
    local -a subcommands=( # not commands, which is zsh's own
`

const zshDispatch = `        '1: :->command' \
        '*:: :->arguments'
    case $state in
        command) _describe -t commands 'command' subcommands ;;
        arguments)
            case $line[1] in
`

// zshCommand completes another command, behind a -- or not.
const zshCommand = `
                    if [[ $state == command ]]; then
                        [[ $words[1] == -- ]] && shift words && ((CURRENT--))
                        _normal
                    fi
`

const zshEnd = `            esac
            ;;
    esac
}

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

package main

import (
	"fmt"
	"slices"
	"strings"
)

// bashCompletion returns a script for bash.
func bashCompletion(all completions) string {
	flags := slices.Clone(all.global)
	for _, command := range all.commands {
		flags = append(flags, command.flags...)
	}
	var withValue []string
	for _, flag := range flags {
		if flag.value != "" {
			withValue = append(withValue, flag.names()...)
		}
	}

	var b strings.Builder
	fmt.Fprintf(&b, bashStart, strings.Join(withValue, "|"))
	b.WriteString("    case $prev in\n")
	for _, flag := range flags {
		if flag.value != "" {
			fmt.Fprintf(&b, "        %s) %s return ;;\n", strings.Join(flag.names(), "|"), bashValue(flag))
		}
	}
	b.WriteString("    esac\n    case $command in\n")
	var names []string
	for _, command := range all.commands {
		names = append(names, command.names[0])
		words := append(bashFlags(all.global), bashFlags(command.flags)...)
		words = append(words, command.choices...)
		fmt.Fprintf(&b, "        %s) _airlock_words %s ;;\n",
			strings.Join(command.names, "|"), strings.Join(words, " "))
	}
	fmt.Fprintf(&b, "        '') _airlock_words %s ;;\n    esac\n",
		strings.Join(append(names, bashFlags(all.global)...), " "))
	for _, command := range all.commands {
		if command.command {
			fmt.Fprintf(&b, bashCommand, command.names[0])
		}
	}
	b.WriteString("}\n\ncomplete -F _airlock airlock\n")
	return b.String()
}

// bashStart finds the subcommand and the first of its arguments. %s is a pattern
// of the flags that take a value.
const bashStart = `# bash completion for airlock, made by: airlock completion bash

_airlock_words() {
    mapfile -t COMPREPLY < <(compgen -W "$*" -- "$cur")
}

_airlock_files() {
    compopt -o filenames
    mapfile -t COMPREPLY < <(compgen "$1" -- "$cur")
}

_airlock() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
    local command= first= i
    COMPREPLY=()
    if [[ $cur == = ]]; then
        cur=
    elif [[ $prev == = ]]; then
        prev=${COMP_WORDS[COMP_CWORD-2]}
    fi
    for ((i = 1; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
            --) first=$((i + 1)); prev=; break ;;
            %s) [[ ${COMP_WORDS[i+1]} == = ]] && ((i++)); ((i++)) ;;
            [:=]) ((i++)) ;; # these split words: --url ws://host:1
            -*) ;;
            *)
                if [[ -z $command ]]; then
                    command=${COMP_WORDS[i]}
                else
                    first=$i prev=
                    break
                fi
                ;;
        esac
    done
`

// bashCommand completes another command. With the package bash-completion it is
// completed as it would be alone.
const bashCommand = `    if [[ $command == %s && ( -n $first || $cur != -* ) ]]; then
        : "${first:=$COMP_CWORD}"
        if declare -F _command_offset >/dev/null; then
            _command_offset "$first"
        elif ((first == COMP_CWORD)); then
            mapfile -t COMPREPLY < <(compgen -c -- "$cur")
        else
            _airlock_files -f
        fi
    fi
`

// bashValue returns the commands that complete the value of a flag.
func bashValue(flag completedFlag) string {
	switch {
	case len(flag.choices) > 0:
		return "_airlock_words " + strings.Join(flag.choices, " ") + ";"
	case flag.files:
		return "_airlock_files -f;"
	case flag.dirs:
		return "_airlock_files -d;"
	}
	return "" // nothing to propose
}

func bashFlags(flags []completedFlag) []string {
	var words []string
	for i := range flags {
		words = append(words, flags[i].names()...)
	}
	return words
}

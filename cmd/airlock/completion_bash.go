package main

import (
	"fmt"
	"slices"
	"strings"
)

// bashCompletion returns a script for bash.
func bashCompletion(all completions) string {
	nodes := bashNodes(all)
	var groups, withValue []string
	for _, n := range nodes {
		if len(n.commands) > 0 {
			groups = append(groups, n.names...)
		}
		for i := range n.own {
			if n.own[i].value != "" {
				withValue = append(withValue, n.words(&n.own[i])...)
			}
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, bashStart, strings.Join(withValue, "|"), strings.Join(groups, "|"))
	b.WriteString("    case $command:$prev in\n")
	for _, n := range nodes {
		for i := range n.own {
			if flag := &n.own[i]; flag.value != "" {
				fmt.Fprintf(&b, "        %s) %s return ;;\n", strings.Join(n.words(flag), "|"), bashValue(flag))
			}
		}
	}
	b.WriteString("    esac\n    case $command in\n")
	for _, n := range nodes {
		fmt.Fprintf(&b, "        %s) %s_airlock_words %s ;;\n",
			strings.Join(n.names, "|"), n.files(), strings.Join(n.proposals(), " "))
	}
	b.WriteString("    esac\n")
	for _, n := range nodes {
		for _, pattern := range n.names {
			if n.command {
				fmt.Fprintf(&b, bashCommand, "$command == "+pattern+" && ( -n $first || $cur != -* )")
			}
			group, _, below := strings.Cut(pattern, `\ `)
			if n.unnamed && below {
				fmt.Fprintf(&b, bashCommand, "$command == "+group+" && -n $first")
			}
		}
	}
	b.WriteString("}\n\ncomplete -F _airlock airlock\n")
	return b.String()
}

// bashNode is a command, a group of them, or the program itself.
type bashNode struct {
	completedCommand
	names   []string        // patterns of how it is typed
	own     []completedFlag // that it does not share with what it belongs to
	flags   []completedFlag // all
	reaches []string        // patterns of where its own flags may stand
}

// bashNodes returns all nodes. A group stands before what belongs to it, and the
// program first.
func bashNodes(all completions) []bashNode {
	root := bashNode{
		completedCommand: completedCommand{commands: all.commands},
		names:            []string{"''"}, own: all.global, flags: all.global, reaches: []string{"*"},
	}
	return root.withBelow(nil)
}

// withBelow returns the node and those that belong to it, in which the names of the
// node are behind others.
func (n bashNode) withBelow(before []string) []bashNode {
	nodes := []bashNode{n}
	for _, command := range n.commands {
		child := bashNode{completedCommand: command, own: command.flags, flags: slices.Concat(n.flags, command.flags)}
		var path []string
		for _, name := range command.names {
			path = append(path, strings.Join(append(slices.Clone(before), name), `\ `))
		}
		child.names, child.reaches = path, path
		if len(command.commands) > 0 {
			child.reaches = append(slices.Clone(path), path[0]+`\ *`)
		}
		nodes = append(nodes, child.withBelow(append(slices.Clone(before), command.names[0]))...)
	}
	return nodes
}

// words returns patterns of a flag behind what it belongs to and a colon.
func (n bashNode) words(flag *completedFlag) []string {
	var words []string
	for _, place := range n.reaches {
		for _, name := range flag.names() {
			words = append(words, place+":"+name)
		}
	}
	return words
}

// proposals are the words that may follow.
func (n bashNode) proposals() []string {
	var words []string
	for _, command := range n.commands {
		words = append(words, command.names[0])
	}
	for i := range n.flags {
		words = append(words, n.flags[i].names()...)
	}
	return append(words, n.choices...)
}

// files returns the beginning of what is done for a command whose arguments are the
// names of files.
func (n bashNode) files() string {
	if !n.completedCommand.files {
		return ""
	}
	return "[[ $cur != -* ]] && _airlock_files -f || "
}

// bashStart finds the subcommand and the first of its arguments. The first %s is a
// pattern of the flags that take a value, each behind what it belongs to, the second
// one of what has commands.
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
        case $command:${COMP_WORDS[i]} in
            *:--) first=$((i + 1)); prev=; break ;;
            %s) [[ ${COMP_WORDS[i+1]} == = ]] && ((i++)); ((i++)) ;;
            *:[:=]) ((i++)) ;; # these split words: --url ws://host:1
            *:-*) ;;
            *)
                case $command in
                    %s) command=${command:+$command }${COMP_WORDS[i]} ;;
                    *) first=$i prev=; break ;;
                esac
                ;;
        esac
    done
`

// bashCommand completes another command. With the package bash-completion it is
// completed as it would be alone.
const bashCommand = `    if [[ %s ]]; then
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
func bashValue(flag *completedFlag) string {
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

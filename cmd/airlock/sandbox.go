package main

import (
	"slices"
	"strings"
)

// sandboxCommand is `airlock sandbox`: a group of two, of which one need not be
// named.
type sandboxCommand struct {
	policyFlags

	Run     sandboxRunCommand     `cmd:"" default:"withargs" help:"Run one command under the policy, on this machine. The word run can be left out."`
	Explain sandboxExplainCommand `cmd:"" help:"Tell what the policy lets a command do with a path, and why."`
}

// Help is printed between the summary and the flags.
func (*sandboxCommand) Help() string {
	return `Without flags a command reads all files, writes none, and has no network:

    airlock sandbox -- make test
    airlock sandbox --workspace-write . -- make test              # writes here and in /tmp
    airlock sandbox --workspace-write . --deny '**/.env' -- make
    airlock sandbox --workspace-write . --net on -- npm install
    airlock sandbox explain --workspace-write . --path .git

These flags go before explain or behind it, and before the command that is run, whose own flags (-t, -e, --cwd, --timeout and so on) are those of airlock run: see airlock sandbox run --help. Relative paths begin at this directory. Where several flags are about a path, that with the longest path decides; for the same path it is --deny before --write before --read. What no flag lets the command do, it can't. docs/sandbox.md tells what is enforced, and what is not.`
}

// sandboxRunCommand is `airlock sandbox run`, and `airlock sandbox` alone.
type sandboxRunCommand struct {
	processFlags

	Command []string `arg:"" passthrough:"partial" complete:"command" help:"The command and its arguments."`
}

// Help is printed between the summary and the flags.
func (*sandboxRunCommand) Help() string {
	return `The command is confined, as airlock run --sandbox has it, with the same flags of the policy: see airlock sandbox --help. Standard input, signals, the terminal and exit statuses are as with airlock run. If the sandbox could not be set up, the command is not run, standard error says why, and the exit status is 125.`
}

// Run runs the command.
func (c *sandboxRunCommand) Run(group *sandboxCommand, log *logFlags) error {
	run := runCommand{processFlags: c.processFlags, Sandbox: true, policyFlags: group.policyFlags, Command: c.Command}
	return run.Run(log)
}

// nameRun puts the word run before a -- that stands behind sandbox alone. What comes
// behind it is then a command, also if it has the name of one of ours.
func nameRun(args []string) []string {
	end := slices.Index(args, "--")
	if end < 0 {
		return args
	}
	at := slices.Index(args[:end], "sandbox")
	if at < 0 || slices.Contains(args[at:end], "run") || slices.Contains(args[at:end], "explain") {
		return args
	}
	for i, word := range args[:at] {
		isValue := i > 0 && (args[i-1] == "--log-level" || args[i-1] == "--log-format")
		if !strings.HasPrefix(word, "-") && !isValue {
			return args // sandbox is an argument of another command
		}
	}
	return slices.Insert(slices.Clone(args), end, "run")
}

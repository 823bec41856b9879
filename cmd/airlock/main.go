// Command airlock runs commands for a remote agent: it serves the exec-server
// protocol, or runs one command and passes on what it does.
//
// Each subcommand has a file of its own, with its flags and what it prints; how
// things work is the business of the packages client and server.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/airlock-exec/airlock/server"
)

// Exit statuses. Those of `airlock run` from 125 on are what env, timeout and
// docker use, so that they are told from the command's own.
const (
	exitFailure = 1
	exitUsage   = 2

	exitRunFailed     = 125
	exitCannotExecute = 126
	exitNotFound      = 127
	exitSignal        = 128 // plus the signal's number
)

// commandLine is everything that can be typed. To add a subcommand: a struct in
// a file of its own with a Run method, and a line here. To add a flag: a field
// in the subcommand's struct; those of serve are keys of its configuration file
// by that.
type commandLine struct {
	Log         logFlags    `embed:"" group:"log"`
	ShowVersion versionFlag `name:"version" help:"Print the version and exit."`

	Serve       serveCommand       `cmd:"" aliases:"exec-server" help:"Serve the exec-server protocol to clients."`
	Run         runCommand         `cmd:"" help:"Run one command in an executor, and pass on its output and exit status."`
	Sandbox     sandboxCommand     `cmd:"" help:"Run one command confined on this machine, or tell what a policy allows."`
	FS          fsCommand          `cmd:"" name:"fs" help:"Work with the files of the host of an executor."`
	HTTP        httpCommand        `cmd:"" name:"http" help:"Make an HTTP request from the host of an executor."`
	PS          psCommand          `cmd:"" name:"ps" help:"List the sessions and processes of the executors that run here."`
	Attach      attachCommand      `cmd:"" help:"Follow a process of any session, or take its session over."`
	Kill        killCommand        `cmd:"" help:"End a process of any session, or a session."`
	Top         topCommand         `cmd:"" help:"Show what the processes of all sessions use."`
	Version     versionCommand     `cmd:"" help:"Print the version."`
	Conformance conformanceCommand `cmd:"" help:"Test whether an executor keeps to the protocol."`
	Completion  completionCommand  `cmd:"" help:"Print a completion script for a shell."`
	Doctor      doctorCommand      `cmd:"" help:"Tell what this host offers to Airlock, and how to mend what is missing."`
	Help        helpCommand        `cmd:"" help:"Print the help of a command."`
}

// serveLine is as much of commandLine as serve takes. All of it takes three
// milliseconds to be understood, which is half of what a server takes to start.
type serveLine struct {
	Log         logFlags    `embed:"" group:"log"`
	ShowVersion versionFlag `name:"version" help:"Print the version and exit."`

	Serve serveCommand `cmd:"" aliases:"exec-server" help:"Serve the exec-server protocol to clients."`
}

// parseLine parses a command line, by the smallest grammar that does.
func parseLine(args []string, stdout, stderr io.Writer) (*kong.Context, *logFlags, error) {
	if len(args) > 0 && (args[0] == "serve" || args[0] == "exec-server") {
		var cli serveLine
		ctx, err := newParser(&cli, stdout, stderr).Parse(args)
		return ctx, &cli.Log, err
	}
	var cli commandLine
	ctx, err := newParser(&cli, stdout, stderr).Parse(nameRun(args))
	return ctx, &cli.Log, err
}

// newParser makes the parser for a grammar. Help goes to stdout.
func newParser(cli any, stdout, stderr io.Writer) *kong.Kong {
	return kong.Must(cli,
		kong.Name("airlock"),
		kong.Description("Airlock runs commands for a remote agent, and loses nothing of what they say."),
		kong.Writers(stdout, stderr),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true, WrapUpperBound: 80}),
		kong.ExplicitGroups([]kong.Group{
			{Key: "auth", Title: "Authentication of WebSocket clients:"},
			{Key: "limits", Title: "Limits:"},
			{Key: "sandbox", Title: "Sandbox:"},
			{Key: "config", Title: "Configuration:"},
			{Key: "log", Title: "Logging:"},
		}),
		// Strings stay as they are: kong would replace what is not UTF-8.
		kong.KindMapper(reflect.String, stringMapper{}),
		kong.TypeMapper(reflect.TypeFor[count](), textMapper{}),
		kong.TypeMapper(reflect.TypeFor[*count](), textMapper{}),
		kong.TypeMapper(reflect.TypeFor[peerCount](), textMapper{}),
		kong.TypeMapper(reflect.TypeFor[*seconds](), textMapper{}),
		kong.TypeMapper(reflect.TypeFor[duration](), textMapper{}),
		kong.TypeMapper(reflect.TypeFor[size](), textMapper{}),
		kong.TypeMapper(reflect.TypeFor[grace](), textMapper{}),
		kong.TypeMapper(reflect.TypeFor[features](), textMapper{}),
		kong.TypeMapper(reflect.TypeFor[interval](), textMapper{}),
	)
}

func main() {
	server.RunHelper()
	os.Exit(run(os.Args[1:]))
}

// run does what a command line says and returns the exit status.
func run(args []string) int {
	ctx, log, err := parseLine(args, os.Stdout, os.Stderr)
	if err == nil {
		err = ctx.Run(log)
	}
	command := ""
	if ctx != nil {
		command = commandName(ctx.Selected())
	}
	return report(os.Stderr, command, err)
}

// commandName is how a command is typed behind "airlock"; a command of a group has
// the name of the group before its own.
func commandName(node *kong.Node) string {
	if node == nil || node.Parent == nil {
		return ""
	}
	return strings.TrimSpace(commandName(node.Parent) + " " + node.Name)
}

// statusError is an exit status that says all there is to say.
type statusError int

func (s statusError) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// exitError is an error with an exit status of its own.
type exitError struct {
	status int
	err    error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// errorPrefix is what error texts begin with. Those of serve, and of a command line
// without a command, begin as programs expect that know the Codex exec-server.
func errorPrefix(command string) string {
	if command == "" || command == "serve" {
		return "Error: "
	}
	return "airlock: "
}

// report tells the user about an error of a command and returns the exit status for
// it.
func report(stderr io.Writer, command string, err error) int {
	if err == nil {
		return 0
	}
	if status, ok := errors.AsType[statusError](err); ok {
		return int(status)
	}
	if failure, ok := errors.AsType[*exitError](err); ok {
		fmt.Fprintf(stderr, "airlock: %v\n", failure.err)
		return failure.status
	}
	if parse, ok := errors.AsType[*kong.ParseError](err); ok && parse.ExitCode() != exitFailure {
		return reportUsage(stderr, parse)
	}
	fmt.Fprintf(stderr, "%s%v\n", errorPrefix(command), err)
	return exitFailure
}

// reportUsage tells the user about a command line that makes no sense.
func reportUsage(stderr io.Writer, err *kong.ParseError) int {
	var text error = err
	if value, ok := errors.AsType[*valueError](err); ok {
		text = value // without the flag's name, which it has already
	}
	command, status := commandName(err.Context.Selected()), exitUsage
	switch command {
	case "run", "sandbox", "sandbox run", "attach":
		status = exitRunFailed // 2 could be the command's own
	}
	fmt.Fprintf(stderr, "%s%v\nRun \"%s --help\" for more information.\n",
		errorPrefix(command), text, strings.TrimSpace("airlock "+command))
	return status
}

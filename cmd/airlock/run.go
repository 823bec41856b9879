package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/airlock-exec/airlock/client"
	"github.com/airlock-exec/airlock/protocol"
	"github.com/airlock-exec/airlock/server"
)

// runCommand is `airlock run`.
type runCommand struct {
	URL       string   `placeholder:"URL" help:"Run the command in the executor at this ws:// or wss:// URL. Without it the command runs on this machine, in an executor of its own."`
	TokenFile string   `placeholder:"PATH" complete:"file" help:"Present the token in this file to the executor at --url."`
	TTY       bool     `short:"t" help:"Give the command a terminal, of 24 rows and 80 columns."`
	Env       []string `short:"e" sep:"none" placeholder:"NAME=VALUE" help:"Set a variable in the environment of the command. May be given more than once; other variables are inherited from the executor."`
	CWD       string   `name:"cwd" placeholder:"DIR" complete:"dir" help:"Run the command in this directory. The default is this one, or the executor's own with --url."`
	JSON      bool     `name:"json" help:"Print what happens as JSON objects, one a line, in place of the output."`
	Command   []string `arg:"" passthrough:"partial" complete:"command" help:"The command and its arguments."`
}

// Help is printed between the summary and the flags.
func (*runCommand) Help() string {
	return `Standard input goes to the command until it ends; the command's output comes out as it is. The exit status is the command's: 128 and the signal's number if a signal ended it. Besides,

    125  Airlock itself failed, or the command succeeded and output is missing
    126  the command could not be executed
    127  the command was not found
    130  interrupted a second time (the first interrupt goes to the command)
    141  nobody reads the output any more; the command was killed
    143  terminated, and the command with it (129 by a hangup)

If the command leaves something behind that may still write, its output is waited for; an interrupt ends that.

With --url, a connection that is lost is tried to be had again for 75 seconds. The command runs on meanwhile, and all of its output comes, once. Where the executor had to drop some, standard error says how much.

With --json, standard output has one object a line:

    {"event":"start","processId":"run","sessionId":"…"}
    {"event":"output","seq":1,"stream":"stdout","chunk":"aGkK"}
    {"event":"exited","seq":2,"exitCode":0,"sandboxDenied":false}
    {"event":"closed","seq":3}

The chunk is base64; streams are stdout, stderr and, with -t, pty. Where output is missing, there is

    {"event":"gap","firstSeq":2,"seq":9,"missedBytes":{"stdout":4711}}

without missedBytes if the executor does not tell.`
}

// runError is a failure of `airlock run` that is not the command's.
type runError struct {
	status int
	err    error
}

func (e *runError) Error() string { return e.err.Error() }

// Run runs the command.
func (c *runCommand) Run(log *logFlags) error {
	if c.TokenFile != "" && c.URL == "" {
		return &runError{exitRunFailed, errors.New("--token-file needs --url")}
	}
	// Before there is an executor, which catches the signals that we ignore.
	signals, release := catchSignals()
	r := &runner{
		command: c, sink: newSink(c.JSON), started: make(chan struct{}),
		signals: signals, release: release,
	}
	if c.URL == "" {
		embedded := server.New(server.Config{Logger: log.logger(os.Stderr), Version: airlockVersion()})
		defer embedded.Close()
		r.connect = func(ctx context.Context) (client.Executor, error) {
			return client.Connect(ctx, embedded, client.Options{Name: clientName})
		}
	} else {
		notice := &connectionNotice{stderr: os.Stderr}
		defer notice.stop()
		r.connect = func(ctx context.Context) (client.Executor, error) { return c.dial(ctx, notice.changed) }
	}
	status, err := r.run()
	switch {
	case err == nil && status == 0:
		return nil
	case err == nil:
		return statusError(status)
	}
	return &runError{status, err}
}

// clientName is how executors know us.
const clientName = "airlock-run"

func (c *runCommand) dial(ctx context.Context, onConnection func(error)) (client.Executor, error) {
	options := client.Options{Name: clientName, OnConnection: onConnection}
	if c.TokenFile != "" {
		token, err := os.ReadFile(c.TokenFile)
		if err != nil {
			return nil, fmt.Errorf("reading the token: %w", err)
		}
		options.BearerToken = string(bytes.TrimSpace(token))
	}
	return client.Dial(ctx, c.URL, options)
}

// processID can be anything: every run has a session of its own.
const processID = "run"

// start asks the executor for the command.
func (c *runCommand) start(info *protocol.EnvironmentInfo) (*protocol.StartParams, error) {
	argv := c.Command
	if argv[0] == "--" { // ends our flags; kong leaves it
		argv = argv[1:]
	}
	if len(argv) == 0 {
		return nil, errors.New("no command after --")
	}
	for i, arg := range argv {
		if !utf8.ValidString(arg) {
			return nil, fmt.Errorf("word %d of the command is not UTF-8, which the protocol can't carry", i+1)
		}
	}
	env := map[string]string{}
	for _, variable := range c.Env {
		name, value, ok := strings.Cut(variable, "=")
		if !ok || name == "" || !utf8.ValidString(variable) {
			return nil, fmt.Errorf("--env %q: expected NAME=VALUE", variable)
		}
		env[name] = value
	}
	dir, err := c.directory(info)
	if err != nil {
		return nil, err
	}
	return &protocol.StartParams{
		ProcessID: processID,
		Argv:      argv,
		CWD:       dir,
		EnvPolicy: &protocol.EnvPolicy{
			Inherit:               protocol.InheritAll,
			IgnoreDefaultExcludes: true,
			Exclude:               []string{},
			Set:                   map[string]string{},
			IncludeOnly:           []string{},
		},
		Env: env,
		TTY: c.TTY,
		// Standard input that is empty needs no closing, which not every
		// executor can do.
		PipeStdin: !c.TTY && !isNull(os.Stdin),
	}, nil
}

// directory returns where to run the command.
func (c *runCommand) directory(info *protocol.EnvironmentInfo) (protocol.PathURI, error) {
	switch {
	case c.URL == "":
		dir, err := filepath.Abs(c.CWD)
		if err != nil {
			return protocol.PathURI{}, err
		}
		// The executor would only say that something was not found.
		if status, err := os.Stat(dir); err != nil {
			return protocol.PathURI{}, fmt.Errorf("working directory: %w", err)
		} else if !status.IsDir() {
			return protocol.PathURI{}, fmt.Errorf("working directory: %s is not a directory", dir)
		}
		return protocol.PathURIFromNative(dir)
	case strings.HasPrefix(c.CWD, "file:"): // of another system, perhaps
		return protocol.ParsePathURI(c.CWD)
	case filepath.IsAbs(c.CWD):
		return protocol.PathURIFromNative(c.CWD)
	case c.CWD != "":
		return protocol.PathURI{}, fmt.Errorf("--cwd %s: with --url, expected an absolute path or a file: URI", c.CWD)
	case info.CWD == nil:
		return protocol.PathURI{}, errors.New("the executor does not tell its working directory: set --cwd")
	}
	return *info.CWD, nil
}

// startFailure gives a refused start the exit status that shells use. The
// executor does not tell a missing directory from a missing program.
func startFailure(name string, dir protocol.PathURI, err error) (int, error) {
	status := exitRunFailed
	if refusal, ok := errors.AsType[*protocol.Error](err); ok {
		switch refusal.Kind() {
		case protocol.KindSpawnNotFound:
			status = exitNotFound
		case protocol.KindSpawnPermissionDenied, protocol.KindSpawnFailed:
			status = exitCannotExecute
		default: // refused before the command was looked at
		}
	}
	place, nativeErr := dir.Native()
	if nativeErr != nil { // the executor has another system
		place = dir.String()
	}
	return status, fmt.Errorf("cannot start %q in %s: %w", name, place, err)
}

// isNull tells whether a file is the null device.
func isNull(f *os.File) bool {
	null, err := os.Stat(os.DevNull)
	if err != nil {
		return false
	}
	status, err := f.Stat()
	return err == nil && os.SameFile(null, status)
}

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/airlock-exec/airlock/protocol"
)

// processID can be anything: every run has a session of its own.
const processID = "run"

// start asks the executor for the command. Size is that of the user's terminal,
// or nil.
func (c *runCommand) start(info *protocol.EnvironmentInfo, size *protocol.TerminalSize) (*protocol.StartParams, error) {
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
	env, err := c.environment()
	if err != nil {
		return nil, err
	}
	extra, err := c.extra(info, size)
	if err != nil {
		return nil, err
	}
	dir, err := c.directory(info)
	if err != nil {
		return nil, err
	}
	confinement, err := c.confinement(dir)
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
		Sandbox:   confinement,
		Airlock:   extra,
	}, nil
}

// confines tells whether the command is to be confined.
func (c *runCommand) confines() bool { return c.Sandbox || c.given() }

// confinement returns what the command, which runs in dir, is confined to: nil is
// nothing.
func (c *runCommand) confinement(dir protocol.PathURI) (*protocol.SandboxContext, error) {
	if !c.confines() {
		return nil, nil
	}
	place := policyPlace{work: dir}
	if c.URL == "" {
		here, err := currentDirectory()
		if err != nil {
			return nil, err
		}
		place.dir = &here
	}
	return c.sandbox(place)
}

// currentDirectory returns this directory.
func currentDirectory() (protocol.PathURI, error) {
	dir, err := os.Getwd()
	if err != nil {
		return protocol.PathURI{}, fmt.Errorf("finding out this directory: %w", err)
	}
	return protocol.PathURIFromNative(dir)
}

// environment returns what is set in the command's environment.
func (c *runCommand) environment() (map[string]string, error) {
	env := map[string]string{}
	// Programs have to know what kind of terminal their output ends up on.
	if kind := os.Getenv("TERM"); c.TTY && kind != "" && utf8.ValidString(kind) {
		env["TERM"] = kind
	}
	for _, variable := range c.Env {
		name, value, ok := strings.Cut(variable, "=")
		if name == "" || !utf8.ValidString(variable) {
			return nil, fmt.Errorf("--env %q: expected NAME=VALUE, or the NAME of a variable that is set here", variable)
		}
		if !ok {
			switch value, ok = os.LookupEnv(name); {
			case !ok:
				return nil, fmt.Errorf("--env %s: the variable is not set here: expected NAME=VALUE, "+
					"or the NAME of one that is", name)
			case !utf8.ValidString(value): // which may be a secret
				return nil, fmt.Errorf("--env %s: its value here is not UTF-8, which the protocol can't carry", name)
			}
		}
		env[name] = value
	}
	return env, nil
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
func (c *runCommand) startFailure(params *protocol.StartParams, err error) (int, error) {
	status := exitRunFailed
	hint := ""
	if refusal, ok := errors.AsType[*protocol.Error](err); ok {
		switch refusal.Kind() {
		case protocol.KindSpawnNotFound:
			status = exitNotFound
			if c.CWD != "" && c.URL != "" { // else the directory is known to be there
				hint = "; the program is not there, or the working directory (--cwd) is not: the executor does not tell which"
			}
		case protocol.KindSpawnPermissionDenied, protocol.KindSpawnFailed:
			status = exitCannotExecute
		case protocol.KindLimitUnavailable:
			hint = c.limitHint(params.Airlock, err.Error())
		case protocol.KindSandboxUnavailable:
			hint = c.sandboxHint()
		default: // refused before the command was looked at
		}
	}
	place, nativeErr := params.CWD.Native()
	if nativeErr != nil { // the executor has another system
		place = params.CWD.String()
	}
	return status, fmt.Errorf("cannot start %q in %s: %w%s", params.Argv[0], place, err, hint)
}

// sandboxHint says who knows why there is no sandbox.
func (c *runCommand) sandboxHint() string {
	if c.URL != "" {
		return " (`airlock doctor` on the executor's host tells what it lacks, if that is Airlock)"
	}
	return " (`airlock doctor` tells what this host lacks)"
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

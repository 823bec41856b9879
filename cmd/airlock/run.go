package main

import (
	"errors"
	"os"
)

// runCommand is `airlock run`.
type runCommand struct {
	executorFlags

	processFlags

	Sandbox bool `group:"sandbox" help:"Confine the command. The other flags of the sandbox say to what, and mean this one, too."`
	policyFlags

	Command []string `arg:"" passthrough:"partial" complete:"command" help:"The command and its arguments."`
}

// processFlags say how a command is run.
type processFlags struct {
	TTY         bool     `short:"t" help:"Give the command a terminal of the size and type of this one. Without a terminal here it has 24 rows and 80 columns."`
	Interactive bool     `short:"i" help:"Do nothing, for those used to other programs: standard input always goes to the command."`
	Env         []string `short:"e" sep:"none" placeholder:"NAME[=VALUE]" help:"Set a variable in the environment of the command, to our own value if none is given. May be given more than once; other variables are inherited from the executor."`
	CWD         string   `name:"cwd" placeholder:"DIR" complete:"dir" help:"Run the command in this directory. The default is this one, or the executor's own with --url."`
	JSON        bool     `name:"json" help:"Print what happens as JSON objects, one a line, in place of the output."`
	Verbose     bool     `short:"v" help:"Tell on standard error what the sandbox is made of, and what it is known to have denied."`

	Timeout        duration  `group:"limits" placeholder:"TIME" help:"Kill the command and what it has started when it has not ended after this time (default never)."`
	IdleTimeout    duration  `group:"limits" placeholder:"TIME" help:"Kill them when there was neither output nor input for this time (default never)."`
	LimitMemory    byteLimit `group:"limits" placeholder:"SIZE" help:"Bound the memory of the command and all that it starts together (default no limit). Sizes are bytes, or have a unit as 256MiB (256M is the same)."`
	LimitCPU       count     `group:"limits" name:"limit-cpu" placeholder:"SECONDS" help:"Bound the processor time of each program (default no limit)."`
	LimitProcesses count     `group:"limits" placeholder:"N" help:"Bound how many processes and threads there may be (default no limit)."`
	LimitOpenFiles count     `group:"limits" placeholder:"N" help:"Bound how many files each program may have open (default no limit)."`
	LimitFileSize  byteLimit `group:"limits" placeholder:"SIZE" help:"Bound the size of each file that is written (default no limit)."`
}

// Help is printed between the summary and the flags.
func (*runCommand) Help() string {
	return `Standard input goes to the command until it ends; the command's output comes out as it is. The exit status is the command's: 128 and the signal's number if a signal ended it. Besides,

    124  --timeout or --idle-timeout has ended the command
    125  Airlock itself failed, or the command succeeded and output is missing
    126  the command could not be executed
    127  the command was not found
    130  interrupted a second time (the first interrupt goes to the command)
    141  nobody reads the output any more; the command was killed
    143  terminated, and the command with it (129 by a hangup)

With --sandbox, or any flag of a sandbox, the command is confined on the executor's host: without other flags it reads all files, writes none, and has no network. If that can't be had, it is not run, and the exit status is 125. docs/sandbox.md tells what is enforced, and what is not.

Where the executor has ended the command, by a limit or otherwise, standard error says so. If the command leaves something behind that may still write, its output is waited for; an interrupt ends that.

SIGQUIT, SIGUSR1, SIGUSR2 and SIGWINCH go to the command. SIGTERM and SIGHUP have it and all that it has started end: what has not after 5 seconds, or at another such signal, is killed. Ctrl-Z stops the command and us, and fg or bg has both go on.

With -t all keys are the command's, Ctrl-C and Ctrl-Z too, and its terminal follows the size of this one. SIGTSTP stops only us: when we go on, the command is made to draw its screen anew.

With --url, a connection that is lost is tried to be had again for 75 seconds. The command runs on meanwhile, and all of its output comes, once. Where the executor had to drop some, standard error says how much. If the executor was restarted, or is gone, so is the command: the exit status is 125. Who is stopped for more than a minute may lose the connection so, too. While there is none, Ctrl-C gives up, also with -t.

With --json, standard output has one object a line:

    {"event":"start","processId":"run","sessionId":"…"}
    {"event":"output","seq":1,"stream":"stdout","chunk":"aGkK"}
    {"event":"exited","seq":2,"exitCode":0,"sandboxDenied":false}
    {"event":"closed","seq":3}

The chunk is base64; streams are stdout, stderr and, with -t, pty. If limits were set, the start has "limits" with what enforces each; if there is a sandbox, "sandboxTier" with what it is made of. The exit has "denials" with what the sandbox is known to have denied, and "setupError" if it could not be set up. If the executor has ended the command, the exit has a "reason": deadline (--timeout), idle, memory, cpu, fileSize, terminated or operator; the close has it if the command had exited already. Where output is missing, there is

    {"event":"gap","firstSeq":2,"seq":9,"missedBytes":{"stdout":4711}}

without missedBytes if the executor does not tell.`
}

// Run runs the command.
func (c *runCommand) Run(log *logFlags) error {
	if err := errors.Join(c.check(), c.checkPolicy()); err != nil {
		return &exitError{exitRunFailed, err}
	}
	r := newRunner(c)
	if c.TTY {
		// Before the signals are caught: who waits for the foreground can be ended.
		if err := r.terminal.open(os.Stdin, os.Stdout); err != nil {
			return &exitError{exitRunFailed, err}
		}
	}
	// Before there is an executor, which catches the signals that we ignore.
	r.signals, r.release = catchSignals()
	connect, stop := c.connector(log.logger(&r.terminal), clientName, r.notice)
	defer stop()
	r.connect = connect
	status, err := r.run()
	if err != nil {
		r.terminal.freshLine()
	}
	switch {
	case err == nil && status == 0:
		return nil
	case err == nil:
		return statusError(status)
	}
	return &exitError{status, err}
}

// clientName is how executors know us.
const clientName = "airlock-run"

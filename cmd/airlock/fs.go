package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/alecthomas/kong"
	"golang.org/x/term"

	"github.com/airlock-exec/airlock/client"
	"github.com/airlock-exec/airlock/protocol"
)

// fsCommand is `airlock fs`: a group of commands, each in a file of its own.
type fsCommand struct {
	executorFlags

	LS    fsLSCommand    `cmd:"" name:"ls" help:"List directories."`
	Cat   fsCatCommand   `cmd:"" help:"Print files, or parts of them."`
	Put   fsPutCommand   `cmd:"" help:"Copy files from here to the host."`
	Get   fsGetCommand   `cmd:"" help:"Copy files from the host to here."`
	CP    fsCPCommand    `cmd:"" name:"cp" help:"Copy files within the host."`
	MV    fsMVCommand    `cmd:"" name:"mv" help:"Move or rename files."`
	RM    fsRMCommand    `cmd:"" name:"rm" help:"Remove files and directories."`
	Mkdir fsMkdirCommand `cmd:"" help:"Make directories."`
	Stat  fsStatCommand  `cmd:"" help:"Tell what is at a path."`
	Find  fsFindCommand  `cmd:"" help:"List all files and directories below directories."`
	Grep  fsGrepCommand  `cmd:"" help:"Look for text in files."`
	Watch fsWatchCommand `cmd:"" help:"Tell what changes at a path."`
}

// Help is printed between the summary and the flags.
func (*fsCommand) Help() string {
	return `Paths are those of the executor's host, in its own spelling or as file: URIs, which can name every file. One that is not absolute begins at the executor's working directory, which is this one without --url.

A connection that is lost is tried to be had again for 75 seconds, and what was being done goes on. The exit status is 0 if all has been done, and 1 if something has failed, which standard error tells; 2 is a command line that makes no sense.

Names and texts that come from the other side are shown with everything escaped that is not a printable character, if standard output is a terminal. Otherwise they are what they are. With --json a line is an object, whose paths are URIs.`
}

// fsName is how executors know us.
const fsName = "airlock-fs"

// host is an executor's host as the commands of `airlock fs` see it.
type host struct {
	*client.Files
	info   *protocol.EnvironmentInfo
	out    *output
	stderr io.Writer
	failed bool // something has, and has been told
}

// run connects to the executor for as long as do takes, and returns what becomes of
// the command.
func (c *fsCommand) run(ctx context.Context, kctx *kong.Context, log *logFlags, do func(*host) error) error {
	return c.runTo(ctx, kctx.Stdout, kctx.Stderr, log, do)
}

// runTo is run with other streams.
func (c *fsCommand) runTo(ctx context.Context, stdout, stderr io.Writer, log *logFlags, do func(*host) error) error {
	return c.use(ctx, log, stderr, fsName, func(executor client.Executor) error {
		h := &host{
			Files: executor.Files(), info: executor.Info(),
			out: newOutput(stdout, isTerminal(stdout)), stderr: stderr,
		}
		err := do(h)
		if flushErr := h.out.flush(); err == nil {
			err = flushErr
		}
		switch {
		case err != nil:
			return h.explain(err)
		case h.failed:
			return statusError(exitFailure)
		}
		return nil
	})
}

// tell tells of an error that does not end the command.
func (h *host) tell(err error) {
	h.failed = true
	fmt.Fprintf(h.stderr, "airlock: %v\n", h.explain(err))
}

// each does something to each of several paths: that one of them fails does not
// keep it from the others, unless the executor is lost.
func (h *host) each(paths []string, do func(remotePath) error) error {
	for _, text := range paths {
		path, err := h.path(text)
		if err == nil {
			err = do(path)
		}
		if err := h.skip(err); err != nil {
			return err
		}
	}
	return nil
}

// skip tells of an error that is about one path, or returns one that is not.
func (h *host) skip(err error) error {
	if err == nil || !isAbout(err) {
		return err
	}
	h.tell(err)
	return nil
}

// isTerminal tells whether what is written goes to a terminal.
func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"syscall"

	"github.com/airlock-exec/airlock/client"
	"github.com/airlock-exec/airlock/protocol"
)

// attachCommand is `airlock attach`.
type attachCommand struct {
	controlFlags

	Target   string  `arg:"" name:"session[/process]" help:"What to follow: the beginning of a session id and, behind a slash, of a process id. A session that has one process needs no more."`
	Takeover bool    `help:"Take the session from its client: what is typed goes to the process."`
	From     *uint64 `xor:"from" placeholder:"SEQ" help:"Begin with the event that has this number. The default is the oldest that is retained."`
	Tail     bool    `xor:"from" help:"Begin with what happens from now on."`
}

// Help is printed between the summary and the flags.
func (*attachCommand) Help() string {
	return `The output of the process comes out as it is, also to a terminal. The process and its client do not notice: its output is read at 8 MiB a second at most. Where that is too slow and some has been dropped, standard error says how much, and from then on 1 MiB a second comes. Ctrl-C ends it, and nothing else.

The exit status is that of the process, once it has ended, and 125 if Airlock failed, or the executor or the session ended first.

With --takeover, the client that has the session is disconnected, and told why. If the process has a terminal, all keys go to it, and its terminal gets the size of this one; what it shows from now on comes out, unless --from says otherwise. Ctrl-P Ctrl-Q detaches. If it has none, lines go to its standard input until that ends, which is passed on, too; nothing is written if it is /dev/null. Ctrl-C detaches. The session is kept for its client to come back as after a lost connection (airlock serve --session-ttl), and so is the process.`
}

// detachedError says that the user has had enough.
var errDetached = errors.New("detached")

// Run follows the process.
func (c *attachCommand) Run() error {
	status, err := c.attach(context.Background())
	switch {
	case err == nil && status == 0:
		return nil
	case err == nil:
		return statusError(status)
	}
	return &runError{status, err}
}

func (c *attachCommand) attach(ctx context.Context) (int, error) {
	t, err := parseTarget(c.Target)
	if err != nil {
		return exitRunFailed, err
	}
	all, err := c.connect(ctx, os.Stderr)
	if err != nil {
		return exitRunFailed, err
	}
	defer closeAll(all)
	f, err := t.find(ctx, all)
	if err == nil {
		err = f.onlyProcess(ctx)
	}
	if err != nil {
		return exitRunFailed, err
	}
	after, err := c.after(ctx, f)
	if err != nil {
		return exitRunFailed, fmt.Errorf("following %s: %w", f, err)
	}
	if c.Takeover {
		return takeOver(ctx, f, after)
	}
	status, err := passOn(f.executor.control.Events(ctx, f.session.SessionID, f.process.ProcessID, after), new(terminal))
	if err != nil {
		err = fmt.Errorf("following %s: %w", f, err)
	}
	return status, err
}

// after returns the number behind which to begin.
func (c *attachCommand) after(ctx context.Context, f *found) (uint64, error) {
	next := f.process.NextSeq
	switch {
	case c.From != nil:
		return *c.From - min(1, *c.From), nil
	case !c.Tail && (!c.Takeover || !f.process.TTY), next <= 1:
		// What a terminal has shown is over: it may have asked our terminal
		// something, whose answer nobody waits for any more.
		return 0, nil
	}
	// The last may still grow, until somebody has read it.
	result, err := f.executor.control.Observe(ctx, protocol.ObserveParams{
		SessionID: f.session.SessionID, ProcessID: f.process.ProcessID,
		AfterSeq: new(next - 2), MaxBytes: new(uint64(1)),
	})
	if err != nil {
		return 0, err
	}
	return result.NextSeq - min(1, result.NextSeq), nil
}

// passOn passes on what a process says, also on our terminal if that is its own,
// and returns its exit status.
func passOn(events iter.Seq2[client.Event, error], own *terminal) (int, error) {
	status := -1
	sink := plainSink{own}
	for event, err := range events {
		if err != nil {
			return exitRunFailed, err
		}
		switch event.Kind {
		case client.Exited:
			status = event.ExitCode
		case client.Output:
			if event.Stream == protocol.StreamPTY {
				own.showing(event.Data)
			}
		case client.Closed:
			own.keep() // it has left the screen as it wanted
		case client.Gap:
		}
		if err := sink.event(event); errors.Is(err, syscall.EPIPE) {
			return exitSignal + int(syscall.SIGPIPE), nil
		} else if err != nil {
			return exitRunFailed, err
		}
	}
	if status < 0 {
		return exitRunFailed, errors.New("the executor does not know how the process has ended")
	}
	return status, nil
}

package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"syscall"

	"golang.org/x/term"

	"github.com/airlock-exec/airlock/client"
	"github.com/airlock-exec/airlock/internal/transport"
	"github.com/airlock-exec/airlock/protocol"
)

// attachCommand is `airlock attach`.
type attachCommand struct {
	controlFlags

	Target   string `arg:"" name:"session[/process]" help:"What to follow: the beginning of a session id and, behind a slash, of a process id. A session that has one process needs no more."`
	Takeover bool   `help:"Take the session from its client: what is typed goes to the process."`
	From     *count `xor:"from" placeholder:"SEQ" help:"Begin with the event that has this number. The default is the oldest that is retained."`
	Tail     bool   `xor:"from" help:"Begin with what happens from now on."`
}

// Help is printed between the summary and the flags.
func (*attachCommand) Help() string {
	return `The output of the process comes out as it is, also to a terminal. The process and its client do not notice: its output is read at 8 MiB a second at most. Where that is too slow and some has been dropped, standard error says how much, and from then on 1 MiB a second comes. Ctrl-C ends it, and nothing else. If the process has a terminal, and this is one, what it has made of it is undone then, and what is typed goes nowhere.

The exit status is that of the process, once it has ended, and

      0  the keys to detach were pressed (with --takeover)
    125  Airlock failed, or the executor or the session ended first
    130  Ctrl-C was pressed
    141  nobody reads the output any more
    143  terminated (129 by a hangup)

With --takeover, the client that has the session is disconnected, and told why. If the process has a terminal, all keys go to it, and its terminal gets the size of this one; what it shows from now on comes out, unless --from says otherwise. Ctrl-P Ctrl-Q detaches. If it has none, lines go to its standard input until that ends, which is passed on, too; nothing is written if it is /dev/null, and a process without one gets nothing, which is told at the first line. Ctrl-C detaches. The session is kept for its client to come back as after a lost connection (airlock serve --session-ttl), and so is the process.`
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
	return &exitError{status, err}
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
		return exitRunFailed, f.lost(err)
	}
	if c.Takeover {
		return takeOver(ctx, f, after)
	}
	events := f.executor.control.Events(ctx, f.session.SessionID, f.process.ProcessID, after)
	var status int
	if f.process.TTY && term.IsTerminal(int(os.Stdout.Fd())) {
		status, err = watch(ctx, events)
	} else {
		status, err = passOn(ctx, events, new(terminal))
	}
	return status, f.lost(err)
}

// after returns the number behind which to begin.
func (c *attachCommand) after(ctx context.Context, f *found) (uint64, error) {
	next := f.process.NextSeq
	switch {
	case c.From != nil:
		return uint64(*c.From) - 1, nil
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
func passOn(ctx context.Context, events iter.Seq2[client.Event, error], own *terminal) (int, error) {
	var end ending
	sink := plainSink{own}
	for event, err := range events {
		if err != nil {
			return exitRunFailed, err
		}
		end.note(&event)
		if event.Kind == client.Closed && end.byItself() {
			own.keep() // it has left the screen as it wanted
		}
		write := func() error { return sink.event(event) }
		if event.Kind == client.Output && event.Stream == protocol.StreamPTY {
			err = own.show(ctx, event.Data, write)
		} else {
			err = write()
		}
		if errors.Is(err, syscall.EPIPE) {
			return exitSignal + int(syscall.SIGPIPE), nil
		} else if err != nil {
			return exitRunFailed, err
		}
	}
	if end.code == nil || *end.code < 0 {
		return exitRunFailed, errors.New("the executor does not know how the process has ended")
	}
	return *end.code, nil
}

// lost says what it means that a process can't be followed any further. The whole id
// of a session, which the executor's text may have, is a secret.
func (f *found) lost(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, transport.ErrTakenOver):
		return fmt.Errorf("following %s: another client has taken the session over", f)
	case errors.Is(err, transport.ErrEnded):
		return fmt.Errorf("following %s: whoever runs the executor has ended the session, and the process with it", f)
	case errors.Is(err, client.ErrSessionLost):
		return fmt.Errorf("following %s: the session has ended, and the process with it", f)
	case errors.Is(err, client.ErrUnknownProcess):
		return fmt.Errorf("following %s: the executor has forgotten the process, which has ended", f)
	}
	return fmt.Errorf("following %s: %w", f, err)
}

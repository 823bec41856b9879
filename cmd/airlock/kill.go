package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/airlock-exec/airlock/client"
	"github.com/airlock-exec/airlock/protocol"
)

// killCommand is `airlock kill`.
type killCommand struct {
	controlFlags

	Target string `arg:"" name:"session[/process]" help:"What to end: the beginning of a session id and, behind a slash, of a process id."`
	Grace  grace  `default:"5s" placeholder:"TIME" help:"Give processes this long to end by themselves after SIGTERM, with 0 none (default ${default})."`
}

// Help is printed between the summary and the flags.
func (*killCommand) Help() string {
	return `A process is ended with all that it has started. A session is ended with all its processes, and its client is disconnected; it can't be resumed.

What was killed is printed, and what does not die. The exit status is 1 if something does not die, if there is no such process or session, or if the executor can't be reached, and 2 if the command line makes no sense. That nothing was running any more is no failure.`
}

// grace is a length of time that may be zero.
type grace time.Duration

// maxGrace is what executors allow for.
const maxGrace = time.Hour

// UnmarshalText implements [encoding.TextUnmarshaler].
func (g *grace) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	if err != nil || parsed < 0 || parsed > maxGrace {
		return errors.New("expected a time such as 0, 500ms or 5s, up to 1h")
	}
	*g = grace(parsed)
	return nil
}

// String returns the text that UnmarshalText reads.
func (g grace) String() string { return duration(g).String() }

// Run ends the target.
func (c *killCommand) Run(kctx *kong.Context) error {
	t, err := parseTarget(c.Target)
	if err != nil {
		return err
	}
	all, err := c.connect(context.Background(), os.Stderr)
	if err != nil {
		return err
	}
	defer closeAll(all)
	f, err := t.find(context.Background(), all)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(c.Grace)+controlTimeout)
	defer cancel()
	result, err := f.terminate(ctx, time.Duration(c.Grace))
	if err != nil {
		return fmt.Errorf("ending %s: %w", f, plain(f.executor.socket, err))
	}
	return reportKilled(kctx.Stdout, f, result)
}

func (f *found) terminate(ctx context.Context, grace time.Duration) (*protocol.SessionTerminateResult, error) {
	control, id := f.executor.control, f.session.SessionID
	if f.process == nil {
		return control.TerminateSession(ctx, id, grace)
	}
	result, err := control.TerminateProcess(ctx, id, f.process.ProcessID, grace)
	if errors.Is(err, client.ErrUnknownProcess) {
		return nil, errors.New("it is gone by itself")
	}
	return result, err
}

func reportKilled(w io.Writer, f *found, result *protocol.SessionTerminateResult) error {
	what := "process"
	if f.process == nil {
		what = "session"
	}
	text := "nothing was running"
	if len(result.Killed) > 0 {
		text = "killed " + joinInts(result.Killed)
	}
	if len(result.Survivors) > 0 {
		text += "; still there: " + joinInts(result.Survivors)
	}
	if _, err := fmt.Fprintf(w, "%s %s: %s\n", what, f, text); err != nil {
		return err
	}
	if len(result.Survivors) > 0 {
		return statusError(exitFailure)
	}
	return nil
}

func joinInts(numbers []int) string {
	texts := make([]string, len(numbers))
	for i, n := range numbers {
		texts[i] = strconv.Itoa(n)
	}
	return strings.Join(texts, " ")
}

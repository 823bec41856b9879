package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/go-json-experiment/json"

	"github.com/airlock-exec/airlock/protocol"
)

// psCommand is `airlock ps`.
type psCommand struct {
	controlFlags

	All  bool `short:"a" help:"Show also processes that have closed and are still retained."`
	JSON bool `name:"json" help:"Print a JSON object for each executor, one a line, with everything. Its session ids are secrets."`
}

// Help is printed between the summary and the flags.
func (*psCommand) Help() string {
	return `Each line is a process, or a session without one. Of a session's id the beginning is shown, which is enough for the other commands; the whole id gives access to the session to whoever can connect, so that only --json prints it. Where there are several executors, each has a table of its own below its process id and URL.

What clients have chosen, such as names and commands, is shown with everything escaped that is not a printable character.`
}

// Run prints the list.
func (c *psCommand) Run(ctx *kong.Context) error {
	all, err := c.connect(context.Background(), os.Stderr)
	if err != nil {
		return err
	}
	defer closeAll(all)
	if c.JSON {
		return c.printJSON(context.Background(), ctx.Stdout, all)
	}
	for i, o := range all {
		lines, err := c.lines(context.Background(), o, terminalWidth(os.Stdout))
		if err != nil {
			return err
		}
		if len(all) > 1 {
			lines = append([]string{executorLine(o)}, lines...)
		}
		if i > 0 {
			lines = append([]string{""}, lines...)
		}
		if _, err := fmt.Fprintln(ctx.Stdout, strings.Join(lines, "\n")); err != nil {
			return err
		}
	}
	return nil
}

// executorLine tells an executor from others.
func executorLine(o *operated) string {
	listen := make([]string, len(o.about.Listen))
	for i, url := range o.about.Listen {
		listen[i] = printable(url)
	}
	return fmt.Sprintf("executor %d, %s:", o.about.PID, strings.Join(listen, " "))
}

// lines returns the table of an executor, cut to a number of columns unless that is
// 0.
func (c *psCommand) lines(ctx context.Context, o *operated, columns int) ([]string, error) {
	t := table{
		heading: []string{"SESSION", "CLIENT", "SINCE", "PROCESS", "STATE", "PID", "AGE", "EXIT", "COMMAND"},
		right:   []bool{5: true, 6: true},
	}
	if err := c.addSessions(ctx, &t, o); err != nil {
		return nil, err
	}
	return t.lines(columns), nil
}

func (c *psCommand) addSessions(ctx context.Context, t *table, o *operated) error {
	for _, s := range o.sessions {
		processes, err := o.processes(ctx, s.SessionID, false)
		if err != nil {
			return err
		}
		state := "detached "
		if s.Attached {
			state = "attached "
		}
		session := []string{short(s.SessionID), cut(printable(s.ClientName), maxIDWidth), state + since(s.ChangedAtMs)}
		shown := false
		for i := range processes {
			if p := &processes[i]; c.All || p.State != protocol.StateClosed {
				t.add(append(session[:3:3], processCells(p)...)...)
				shown = true
			}
		}
		if !shown {
			t.add(append(session, "", "", "", "", "", "")...)
		}
	}
	return nil
}

func processCells(p *protocol.ProcessInfo) []string {
	pid, exit := "", ""
	if p.PID != 0 {
		pid = strconv.Itoa(p.PID)
	}
	if p.ExitCode != nil {
		exit = strconv.Itoa(int(*p.ExitCode))
	}
	if p.Reason != "" {
		if exit != "" {
			exit += " "
		}
		exit += printable(string(p.Reason))
	}
	return []string{
		cut(printable(p.ProcessID), maxIDWidth), printable(string(p.State)), pid, since(p.StartedAtMs), exit, commandText(p),
	}
}

// commandText shows the command of a process.
func commandText(p *protocol.ProcessInfo) string {
	text := shellWords(p.Argv)
	if p.ArgvCut {
		text += " …"
	}
	return text
}

// executorJSON is what --json prints of an executor.
type executorJSON struct {
	Socket   string                `json:"socket"`
	Executor protocol.ExecutorInfo `json:"executor"`
	Sessions []sessionJSON         `json:"sessions"`
}

type sessionJSON struct {
	Session   protocol.SessionInfo   `json:"session"`
	Processes []protocol.ProcessInfo `json:"processes"`
}

func (c *psCommand) printJSON(ctx context.Context, w io.Writer, all []*operated) error {
	for _, o := range all {
		object := executorJSON{Socket: o.socket, Executor: o.about}
		for _, s := range o.sessions {
			processes, err := o.processes(ctx, s.SessionID, false)
			if err != nil {
				return err
			}
			kept := processes[:0]
			for _, p := range processes {
				if c.All || p.State != protocol.StateClosed {
					kept = append(kept, p)
				}
			}
			object.Sessions = append(object.Sessions, sessionJSON{s, kept})
		}
		line, err := json.Marshal(&object, json.Deterministic(true))
		if err != nil {
			return fmt.Errorf("encoding the list: %w", err)
		}
		if _, err := w.Write(append(printableJSON(line), '\n')); err != nil {
			return err
		}
	}
	return nil
}

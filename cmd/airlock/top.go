package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
	"github.com/go-json-experiment/json"
	"golang.org/x/term"
)

// topCommand is `airlock top`.
type topCommand struct {
	controlFlags

	Interval duration `default:"1s" placeholder:"TIME" help:"Look this often (default ${default})."`
	Once     bool     `help:"Print one table, of one interval, and end."`
	JSON     bool     `name:"json" help:"Print a JSON object for each interval, one a line."`
}

// minInterval keeps us from being what there is to see.
const minInterval = 100 * time.Millisecond

// Help is printed between the summary and the flags.
func (*topCommand) Help() string {
	return `Each line is a process with all that it has started, or a session without one; what uses most of the processors comes first. CPU is in percent of one processor, MEM the resident memory, where what is shared counts each time, OUT what was written in a second. Where there are several executors, EXECUTOR is the process id of the one that it runs in.

On a terminal, the table stays up to date until q or Ctrl-C is pressed.`
}

// Run prints tables until it is interrupted.
func (c *topCommand) Run(kctx *kong.Context) error {
	if time.Duration(c.Interval) < minInterval {
		return fmt.Errorf("--interval (%v) must be at least %v", c.Interval, minInterval)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	s := &sampler{flags: &c.controlFlags}
	defer s.close()
	if err := s.look(ctx, os.Stderr); err != nil {
		return err
	}
	switch {
	case c.JSON:
		return c.each(ctx, s, os.Stderr, func() error { return printSample(kctx.Stdout, &s.now) })
	case !c.Once && term.IsTerminal(int(os.Stdout.Fd())):
		return c.live(ctx, s)
	}
	first := true
	return c.each(ctx, s, os.Stderr, func() error {
		lines := s.now.lines(terminalWidth(os.Stdout))
		if !first {
			lines = append([]string{""}, lines...)
		}
		first = false
		_, err := fmt.Fprintln(kctx.Stdout, strings.Join(lines, "\n"))
		return err
	})
}

// each calls show for every interval.
func (c *topCommand) each(ctx context.Context, s *sampler, stderr io.Writer, show func() error) error {
	ticker := time.NewTicker(time.Duration(c.Interval))
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
		if err := s.look(ctx, stderr); err != nil {
			return unlessOver(ctx, err)
		}
		if err := show(); err != nil {
			return err
		}
		if c.Once {
			return nil
		}
	}
}

// unlessOver drops what has failed because we have been interrupted.
func unlessOver(ctx context.Context, err error) error {
	select {
	case <-ctx.Done():
		return nil
	default:
		return err
	}
}

// What is written to a terminal: to have a screen of our own without a cursor
// whose lines do not wrap, and to give it back; to draw from its upper left; to
// clear the rest of a line, and of the screen.
const (
	ownScreen    = "\x1b[?1049h\x1b[?25l\x1b[?7l"
	formerScreen = "\x1b[?7h\x1b[?25h\x1b[?1049l"
	upperLeft    = "\x1b[H"
	clearLine    = "\x1b[K"
	clearScreen  = "\x1b[J"
)

// live keeps a table on the terminal up to date.
func (c *topCommand) live(ctx context.Context, s *sampler) error {
	ctx, quit := context.WithCancel(ctx)
	defer quit()
	var own terminal
	if err := own.open(os.Stdin, os.Stdout); err != nil {
		return err
	}
	if err := own.take(); err != nil {
		return err
	}
	defer own.restore()
	if own.keyboard != nil {
		go quitByKey(own.keyboard, quit) // a read can't be ended, so nobody waits for this
	}
	changes := make(chan os.Signal, 1)
	notifySize(changes)
	defer signal.Stop(changes)
	fmt.Fprint(os.Stdout, ownScreen)
	defer fmt.Fprint(os.Stdout, formerScreen)

	// Of what can't be asked the table tells, in place of standard error.
	var faults strings.Builder
	draw := func() error {
		width, height, err := term.GetSize(int(os.Stdout.Fd()))
		if err != nil {
			return err
		}
		lines := s.now.lines(width)
		for line := range strings.Lines(faults.String()) {
			lines = append(lines, cut(strings.TrimSuffix(line, "\n"), width))
		}
		lines = lines[:min(len(lines), max(height, 1))]
		_, err = io.WriteString(os.Stdout, upperLeft+strings.Join(lines, clearLine+"\r\n")+clearLine+clearScreen)
		return err
	}
	ticker := time.NewTicker(time.Duration(c.Interval))
	defer ticker.Stop()
	for {
		if err := draw(); err != nil {
			return err
		}
		select {
		case <-changes: // draw what is known
		case <-ticker.C:
			faults.Reset()
			if err := s.look(ctx, &faults); err != nil {
				return unlessOver(ctx, err)
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// quitByKey calls quit when q or Ctrl-C is pressed, or there are no keys any more.
func quitByKey(keyboard io.Reader, quit func()) {
	defer quit()
	keys := make([]byte, 64)
	for {
		n, err := keyboard.Read(keys)
		if bytes.ContainsAny(keys[:n], "qQ\x03") || err != nil {
			return
		}
	}
}

func printSample(w io.Writer, s *sample) error {
	line, err := json.Marshal(s, json.Deterministic(true))
	if err != nil {
		return fmt.Errorf("encoding the table: %w", err)
	}
	_, err = w.Write(append(printableJSON(line), '\n'))
	return err
}

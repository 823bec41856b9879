package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
	"github.com/go-json-experiment/json"
	"golang.org/x/term"

	"github.com/airlock-exec/airlock/internal/doctor"
)

// exitUnavailable is the exit status when something is missing that a default
// depends on.
const exitUnavailable = 2

// doctorCommand is `airlock doctor`.
type doctorCommand struct {
	JSON bool `name:"json" help:"Print a JSON object."`
}

// Help is printed between the summary and the flags.
func (*doctorCommand) Help() string {
	return `For each thing that Airlock works with it says what was found, what that is for, and how to mend what is missing. Nothing is left on the host.

The exit status is 0 if all is there that Airlock uses by default, 2 if something of that is missing, and 1 if the doctor could not work. A command line that makes no sense is 2, too.`
}

// Run examines this host and tells what it has found.
func (c *doctorCommand) Run(ctx *kong.Context) error {
	stopped, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	report, err := doctor.Examine(stopped)
	if err != nil {
		return err
	}
	if c.JSON {
		line, err := json.Marshal(report, json.Deterministic(true))
		if err != nil {
			return fmt.Errorf("encoding the report: %w", err)
		}
		if _, err := fmt.Fprintf(ctx.Stdout, "%s\n", line); err != nil {
			return fmt.Errorf("printing the report: %w", err)
		}
	} else if err := printReport(ctx.Stdout, report, isColoured(ctx.Stdout)); err != nil {
		return fmt.Errorf("printing the report: %w", err)
	}
	if !report.DefaultsAvailable {
		return statusError(exitUnavailable)
	}
	return nil
}

// isColoured tells whether colours would be seen, and are wanted.
func isColoured(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(file.Fd()))
}

// groupTitles are the headlines of the report.
var groupTitles = map[doctor.Group]string{
	doctor.Processes: "Processes",
	doctor.Limits:    "Limits for a command",
	doctor.Sandbox:   "The sandbox",
	doctor.Room:      "Room",
	doctor.Folders:   "Folders",
	doctor.System:    "System",
}

// statusColours are the numbers of the terminal's colours.
var statusColours = map[doctor.Status]int{doctor.OK: 32, doctor.Weaker: 33, doctor.Missing: 31}

// printReport prints a report for people. What is fine takes a line, what is not
// says what it is for and how to mend it.
func printReport(w io.Writer, report *doctor.Report, coloured bool) error {
	longest := 0
	for _, c := range report.Checks {
		longest = max(longest, len(c.Name))
	}
	indent := strings.Repeat(" ", len("  missing  ")+longest+2)
	var b strings.Builder
	var group doctor.Group
	mended := map[string]string{} // what has been told already, and where
	for _, c := range report.Checks {
		if c.Group != group {
			if group != "" {
				b.WriteByte('\n')
			}
			group = c.Group
			b.WriteString(groupTitles[group] + "\n")
		}
		status := fmt.Sprintf("%-7s", c.Status)
		if coloured {
			status = fmt.Sprintf("\x1b[%dm%s\x1b[m", statusColours[c.Status], status)
		}
		fmt.Fprintf(&b, "  %s  %-*s  ", status, longest, c.Name)
		writeFolded(&b, indent, printable(c.Found))
		if c.Status == doctor.OK {
			continue
		}
		b.WriteString(indent)
		writeFolded(&b, indent, "What for: "+c.Purpose+".")
		mend := printable(c.Mend)
		if first := mended[mend]; first != "" {
			mend = "the same as for " + first + "."
		} else {
			mended[mend] = c.Name
		}
		if c.Mend != "" {
			b.WriteString(indent)
			writeFolded(&b, indent, "To mend: "+mend)
		}
	}
	b.WriteByte('\n')
	if missing := report.Unavailable(); len(missing) > 0 {
		fmt.Fprintf(&b, "Not available, but relied on by default: %s.\n", strings.Join(missing, ", "))
	} else {
		b.WriteString("All that is relied on by default is available.\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// foldAt is how long a line may get.
const foldAt = 110

// writeFolded writes a text of which the first line begins at indent, and the
// others are indented.
func writeFolded(b *strings.Builder, indent, text string) {
	column := len(indent)
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
		case column+1+len(word) > foldAt:
			b.WriteString("\n" + indent)
			column = len(indent)
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += len(word)
	}
	b.WriteByte('\n')
}

package main

import (
	"bufio"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// output is what a command prints: for a person, if it goes to a terminal, or for
// another program.
type output struct {
	*bufio.Writer
	terminal bool
}

func newOutput(w io.Writer, terminal bool) *output {
	return &output{bufio.NewWriter(w), terminal}
}

// text returns a text of somebody else's choice as it is to be printed.
func (o *output) text(text string) string {
	if o.terminal {
		return printable(text)
	}
	return text
}

// line prints a line. A person sees it at once.
func (o *output) line(text string) error {
	if _, err := o.WriteString(text); err != nil {
		return err
	}
	if err := o.WriteByte('\n'); err != nil || !o.terminal {
		return err
	}
	return o.flush()
}

// object prints an object as a line of JSON.
func (o *output) object(object any) error {
	line, err := json.Marshal(object, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return fmt.Errorf("encoding a line: %w", err)
	}
	return o.line(string(printableJSON(line)))
}

// flush lets out what has been printed.
func (o *output) flush() error { return o.Flush() }

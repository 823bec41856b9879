// Package plan is what the daemon tells the helper to do before it executes a
// program, and what the helper answers. Both are of the same build, as the daemon
// executes the helper that it carries.
package plan

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Descriptors that the helper is started with for it, both close-on-exec once
// the helper runs: none is left to the program.
const (
	// PlanFD is a file that holds an encoded [Plan].
	PlanFD = 3
	// AnswerFD is a pipe for the [Answer]. It ends when the program has been
	// executed.
	AnswerFD = 4
)

// Plan is a program to execute, and what to do first, in the order of the fields
// from Parent on.
type Plan struct {
	// Path is the program's file, relative to Dir. In a confinement it is looked up
	// on the PATH of Env if it has no slash, as seen from inside; if it is empty,
	// the program is the file that comes with [Assign].
	Path string
	Argv []string
	Env  []string
	// Parent is the process id of the daemon. If DeathSignal is not 0 it is
	// sent to the program when the daemon dies.
	Parent      int
	DeathSignal int
	// Dir is changed to, unless it is empty.
	Dir string
	// Rlimits are set.
	Rlimits []Rlimit
	// Writes are done.
	Writes []Write
	// TTY tells that the standard streams are a terminal, which is to be the
	// controlling terminal of the program. Only a confined program has that done
	// by the helper.
	TTY bool
	// Confine is what the program is confined to; nil means nothing.
	Confine *Confinement
}

// Rlimit is a limit of a process.
type Rlimit struct {
	Resource   int
	Soft, Hard uint64
}

// Write is a text to be written to a file that is there.
type Write struct{ Path, Text string }

// magic begins a plan; it changes with the encoding.
const magic = "airlock plan 2\n"

// Append appends an encoded plan.
func (p *Plan) Append(b []byte) []byte {
	b = append(b, magic...)
	b = appendText(b, p.Path)
	b = appendTexts(b, p.Argv)
	b = appendTexts(b, p.Env)
	b = binary.AppendUvarint(b, uint64(p.Parent))
	b = binary.AppendUvarint(b, uint64(p.DeathSignal))
	b = appendText(b, p.Dir)
	b = binary.AppendUvarint(b, uint64(len(p.Rlimits)))
	for _, r := range p.Rlimits {
		b = binary.AppendUvarint(b, uint64(r.Resource))
		b = binary.AppendUvarint(b, r.Soft)
		b = binary.AppendUvarint(b, r.Hard)
	}
	b = binary.AppendUvarint(b, uint64(len(p.Writes)))
	for _, w := range p.Writes {
		b = appendText(b, w.Path)
		b = appendText(b, w.Text)
	}
	b = appendFlag(b, p.TTY)
	return p.Confine.append(b)
}

// Decode decodes a plan, which has to be all of b.
func Decode(b []byte) (*Plan, error) {
	if len(b) < len(magic) || string(b[:len(magic)]) != magic {
		return nil, errors.New("it is no plan of this version")
	}
	d := decoder{rest: b[len(magic):]}
	p := &Plan{
		Path: d.text(), Argv: d.texts(), Env: d.texts(),
		Parent: d.small(), DeathSignal: d.small(), Dir: d.text(),
	}
	for range d.count() {
		p.Rlimits = append(p.Rlimits, Rlimit{d.small(), d.number(), d.number()})
	}
	for range d.count() {
		p.Writes = append(p.Writes, Write{d.text(), d.text()})
	}
	p.TTY = d.flag()
	p.Confine = d.confinement()
	switch {
	case d.bad:
		return nil, fmt.Errorf("it is cut off or makes no sense, %d bytes before its end", len(d.rest))
	case len(d.rest) > 0:
		return nil, fmt.Errorf("%d bytes follow", len(d.rest))
	}
	return p, nil
}

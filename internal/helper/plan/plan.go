// Package plan is what the daemon tells the helper to do before it executes a
// program, and what the helper answers. Both are of the same build, as the daemon
// executes the helper that it carries.
package plan

import (
	"encoding/binary"
	"errors"
	"fmt"
	"syscall"
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
	// Path is the program's file, relative to Dir.
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
}

// Rlimit is a limit of a process.
type Rlimit struct {
	Resource   int
	Soft, Hard uint64
}

// Write is a text to be written to a file that is there.
type Write struct{ Path, Text string }

// Answer is what the helper says.
type Answer struct {
	// Step is [Executing], which comes right before that, or what has failed.
	Step Step
	// Index tells which one of several.
	Index int
	Errno syscall.Errno
}

// Step is something that the helper does.
type Step byte

// Steps.
const (
	Executing Step = iota + 1 // has not failed
	Reading                   // the plan makes no sense
	Entering                  // Plan.Dir
	Limiting                  // Plan.Rlimits
	Writing                   // Plan.Writes
	Execution                 // of the program
	stepsEnd
)

// magic begins a plan; it changes with the encoding.
const magic = "airlock plan 1\n"

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
	return b
}

func appendText(b []byte, text string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

func appendTexts(b []byte, texts []string) []byte {
	b = binary.AppendUvarint(b, uint64(len(texts)))
	for _, text := range texts {
		b = appendText(b, text)
	}
	return b
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
	switch {
	case d.bad:
		return nil, fmt.Errorf("it is cut off or makes no sense, %d bytes before its end", len(d.rest))
	case len(d.rest) > 0:
		return nil, fmt.Errorf("%d bytes follow", len(d.rest))
	}
	return p, nil
}

// decoder takes things off the front. Once something is bad nothing comes any
// more.
type decoder struct {
	rest []byte
	bad  bool
}

func (d *decoder) number() uint64 {
	n, size := binary.Uvarint(d.rest)
	if d.bad || size <= 0 || size > 1 && d.rest[size-1] == 0 { // as short as can be
		d.bad = true
		return 0
	}
	d.rest = d.rest[size:]
	return n
}

// small returns a number that is not negative as an int of any size.
func (d *decoder) small() int {
	n := d.number()
	if n > 1<<31-1 {
		d.bad = true
		return 0
	}
	return int(n)
}

// count returns how many things follow: no more than there are bytes.
func (d *decoder) count() int {
	n := d.number()
	if n > uint64(len(d.rest)) {
		d.bad = true
		return 0
	}
	return int(n)
}

func (d *decoder) text() string {
	n := d.count()
	if d.bad {
		return ""
	}
	text := string(d.rest[:n])
	d.rest = d.rest[n:]
	return text
}

func (d *decoder) texts() []string {
	n := d.count()
	texts := make([]string, 0, n)
	for range n {
		texts = append(texts, d.text())
	}
	return texts
}

// answerBytes is the length of an encoded answer.
const answerBytes = 7

// Append appends an encoded answer.
func (a Answer) Append(b []byte) []byte {
	b = append(b, byte(a.Step))
	b = binary.LittleEndian.AppendUint16(b, uint16(a.Index))
	return binary.LittleEndian.AppendUint32(b, uint32(a.Errno))
}

// DecodeAnswers returns the last of the answers in b, which is the one that
// counts. There is none if the helper has died.
func DecodeAnswers(b []byte) (last Answer, ok bool) {
	for ; len(b) >= answerBytes; b = b[answerBytes:] {
		last = Answer{
			Step:  Step(b[0]),
			Index: int(binary.LittleEndian.Uint16(b[1:])),
			Errno: syscall.Errno(binary.LittleEndian.Uint32(b[3:])),
		}
		if last.Step == 0 || last.Step >= stepsEnd {
			return Answer{}, false
		}
		ok = true
	}
	return last, ok && len(b) == 0
}

package main

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
)

// terminalModes follows what a command's output makes of a terminal besides
// showing text, so that this can be undone when the command does not come to do
// it, and done again. The zero value is a terminal that is as it should be.
type terminalModes struct {
	state    sequenceState
	sequence []byte // what has come of a control sequence

	changed      []int // private modes that are not as usual, in the order of the changes
	keypad       bool  // application keypad
	otherKeys    bool  // keys are reported that are not otherwise
	region       bool  // not all lines scroll
	attributes   bool  // text has colours or the like
	cursorShaped bool

	// Of the usual screen: the cursor has been put somewhere, so that there may be
	// text below it; and it is not at the beginning of a line.
	moved, midline bool

	sequences bool // there were any
}

// sequenceState is where in a sequence the output is.
type sequenceState int

const (
	inText sequenceState = iota
	afterEscape
	inControl // behind ESC [
)

const (
	escape = 0x1b
	// sequenceBytes bounds the control sequences that are looked at.
	sequenceBytes = 64
)

// usualModes are the private modes that are followed, and whether they are
// usually set.
var usualModes = map[int]bool{
	1:    false,                                        // cursor keys of applications
	7:    true,                                         // lines wrap
	9:    false,                                        // the mouse is reported, here and in the following
	25:   true,                                         // the cursor is shown
	47:   false,                                        // the alternate screen
	1000: false, 1001: false, 1002: false, 1003: false, // the mouse
	1004: false,                                        // focus is reported
	1005: false, 1006: false, 1015: false, 1016: false, // how the mouse is
	1047: false, 1049: false, // the alternate screen
	2004: false, // what is pasted is marked
}

// note takes the next piece of output.
func (m *terminalModes) note(output []byte) {
	for len(output) > 0 {
		if m.state == inText {
			start := bytes.IndexByte(output, escape)
			text := output
			if start >= 0 {
				text = output[:start]
			}
			if len(text) > 0 && !m.alternate() {
				m.midline = text[len(text)-1] != '\n' && text[len(text)-1] != '\r'
			}
			if start < 0 {
				return
			}
			m.state, m.sequences, output = afterEscape, true, output[start+1:]
			continue
		}
		c := output[0]
		output = output[1:]
		switch {
		case c == escape:
			m.state = afterEscape
		case m.state == afterEscape:
			m.escaped(c)
		case c >= 0x40 && c <= 0x7e:
			m.state = inText
			if len(m.sequence) < sequenceBytes {
				m.controlled(string(m.sequence), c)
			}
		case c < 0x20 || c > 0x7e: // no such sequence
			m.state = inText
		case len(m.sequence) < sequenceBytes:
			m.sequence = append(m.sequence, c)
		}
	}
}

// escaped takes the byte behind an escape.
func (m *terminalModes) escaped(c byte) {
	m.state = inText
	switch c {
	case '[':
		m.state, m.sequence = inControl, m.sequence[:0]
	case '=':
		m.keypad = true
	case '>':
		m.keypad = false
	case 'c': // everything anew
		*m = terminalModes{sequence: m.sequence, sequences: true}
	}
}

// controlled takes a control sequence: its parameters, and the byte that says
// what it is about.
func (m *terminalModes) controlled(parameters string, final byte) {
	isUsual := parameters == "" || parameters == "0"
	switch final {
	case 'h', 'l':
		list, private := strings.CutPrefix(parameters, "?")
		for mode := range strings.SplitSeq(list, ";") {
			if number, err := strconv.Atoi(mode); private && err == nil {
				m.setMode(number, final == 'h')
			}
		}
	case 'H', 'f', 'd':
		m.moved = m.moved || !m.alternate()
	case 'm':
		if keys, other := strings.CutPrefix(parameters, ">4"); other {
			m.otherKeys = keys != "" && keys != ";" && keys != ";0"
		} else if !strings.HasPrefix(parameters, ">") {
			m.attributes = !isUsual
		}
	case 'r':
		if !strings.HasPrefix(parameters, "?") {
			m.region = parameters != ""
		}
	case 'q':
		if shape, ok := strings.CutSuffix(parameters, " "); ok {
			m.cursorShaped = shape != "" && shape != "0"
		}
	case 'p':
		if parameters == "!" { // a soft reset
			m.keypad, m.region, m.attributes = false, false, false
			m.setMode(1, false)
			m.setMode(25, true)
		}
	}
}

func (m *terminalModes) setMode(mode int, set bool) {
	usual, followed := usualModes[mode]
	if !followed {
		return
	}
	m.changed = slices.DeleteFunc(m.changed, func(other int) bool { return other == mode })
	if set != usual {
		m.changed = append(m.changed, mode)
	}
}

// alternate tells whether the alternate screen is shown.
func (m *terminalModes) alternate() bool {
	return slices.ContainsFunc(m.changed, func(mode int) bool { return mode == 47 || mode == 1047 || mode == 1049 })
}

// freshLine returns what begins a new line below everything on the usual screen.
func (m *terminalModes) freshLine() string {
	switch {
	case m.moved:
		return "\x1b[999;1H\r\n"
	case m.midline:
		return "\r\n"
	}
	return ""
}

// forget leaves everything as it is.
func (m *terminalModes) forget() {
	*m = terminalModes{moved: m.moved, midline: m.midline, sequences: m.sequences}
}

// undo returns what makes the terminal as usual.
func (m *terminalModes) undo() string {
	var b strings.Builder
	for _, part := range []struct {
		changed bool
		undo    string
	}{
		{m.attributes, "\x1b[0m"},
		{m.region, "\x1b7\x1b[r\x1b8"}, // which moves the cursor
		{m.cursorShaped, "\x1b[0 q"},
		{m.otherKeys, "\x1b[>4m"},
		{m.keypad, "\x1b>"},
	} {
		if part.changed {
			b.WriteString(part.undo)
		}
	}
	for _, mode := range slices.Backward(m.changed) {
		b.WriteString(modeSequence(mode, usualModes[mode]))
	}
	return b.String()
}

// redo returns what undoes that, as far as a program that draws its screen anew
// does not see to it.
func (m *terminalModes) redo() string {
	var b strings.Builder
	for _, mode := range m.changed {
		b.WriteString(modeSequence(mode, !usualModes[mode]))
	}
	if m.keypad {
		b.WriteString("\x1b=")
	}
	if m.otherKeys {
		b.WriteString("\x1b[>4;2m")
	}
	return b.String()
}

func modeSequence(mode int, set bool) string {
	if set {
		return "\x1b[?" + strconv.Itoa(mode) + "h"
	}
	return "\x1b[?" + strconv.Itoa(mode) + "l"
}

package plan

import (
	"encoding/binary"
	"fmt"
)

// ControlFD is the descriptor that the helper is started with for a confinement:
// its end of a pair of Unix sockets of the kind SOCK_SEQPACKET. Each packet is one
// message. The daemon sends one [Assign], and any number of [Signal]s after it;
// the helper answers [Listeners] if they are asked for, one [Answer], any number
// of [Denial]s and, if the answer is Executing, [End]. When the daemon's end is
// closed, everything that the helper has started is killed.
const ControlFD = 3

// LifelineFD is a file that the helper may be started with, which it holds open as
// long as it lives, and does not use: there is a lock on it. The program does not
// get it.
const LifelineFD = 4

// NeededCapabilities are what a helper needs in its user namespace. A process that
// is not root there loses them when it executes the helper, unless they are
// ambient: DAC_OVERRIDE, SETPCAP, NET_BIND_SERVICE, NET_ADMIN, SYS_PTRACE and
// SYS_ADMIN. The program gets none of them.
var NeededCapabilities = []uintptr{1, 8, 10, 12, 19, 21}

// MaxMessage bounds an encoded message.
const MaxMessage = 16 << 10

// A Message goes over the control socket: [Assign], [Signal], [Listeners],
// [Answer], [Denial] or [End].
type Message interface{ appendMessage(b []byte) []byte }

// Assign gives the helper its only task. Its descriptors are, in this order: a
// file that holds an encoded [Plan]; standard input, output and error; and the
// program, if Plan.Path is empty.
type Assign struct{}

// AssignedFiles is how many descriptors an [Assign] has without the program.
const AssignedFiles = 4

// Signal is to be sent to the process group of the program.
type Signal struct{ Signal int }

// Listeners carries the sockets of Confinement.Listen, as its descriptors.
type Listeners struct{ Count int }

// MaxListeners is how many sockets fit into one message.
const MaxListeners = 253

const (
	assignMessage = iota + 1
	signalMessage
	listenersMessage
	answerMessage
	denialMessage
	endMessage
)

// maxSignal is the highest number of a signal.
const maxSignal = 64

func (Assign) appendMessage(b []byte) []byte { return append(b, assignMessage) }

func (s Signal) appendMessage(b []byte) []byte {
	return binary.AppendUvarint(append(b, signalMessage), uint64(s.Signal))
}

func (l Listeners) appendMessage(b []byte) []byte {
	return binary.AppendUvarint(append(b, listenersMessage), uint64(l.Count))
}

func (a Answer) appendMessage(b []byte) []byte { return a.Append(append(b, answerMessage)) }

func (m Denial) appendMessage(b []byte) []byte {
	b = append(b, denialMessage)
	b = appendDetail(b, m.What)
	b = appendDetail(b, m.Path)
	b = appendDetail(b, m.Address)
	return binary.AppendUvarint(b, m.Count)
}

func (e End) appendMessage(b []byte) []byte {
	b = binary.AppendUvarint(append(b, endMessage), uint64(e.Code))
	return binary.AppendUvarint(b, uint64(e.Signal))
}

// AppendMessage appends an encoded message. Texts that are too long are cut.
func AppendMessage(b []byte, m Message) []byte { return m.appendMessage(b) }

// DecodeMessage decodes a message, which has to be all of b.
func DecodeMessage(b []byte) (Message, error) {
	d := decoder{rest: b}
	var m Message
	switch kind := d.byte(); kind {
	case assignMessage:
		m = Assign{}
	case signalMessage:
		m = Signal{d.upTo(maxSignal)}
	case listenersMessage:
		m = Listeners{d.upTo(MaxListeners)}
	case answerMessage:
		m = d.answer()
	case denialMessage:
		m = Denial{What: d.detail(), Path: d.detail(), Address: d.detail(), Count: d.number()}
	case endMessage:
		m = End{d.upTo(255), d.upTo(maxSignal)}
	default:
		return nil, fmt.Errorf("there is no message of kind %d", kind)
	}
	if d.bad || len(d.rest) > 0 {
		return nil, fmt.Errorf("a message of kind %d makes no sense", b[0])
	}
	return m, nil
}

// upTo returns a number that is no higher than last.
func (d *decoder) upTo(last int) int {
	n := d.small()
	d.bad = d.bad || n > last
	return n
}

package plan

import (
	"encoding/binary"
	"syscall"
)

// Answer is what the helper says.
type Answer struct {
	// Step is [Executing], which comes right before that, or what has failed.
	Step Step
	// Index tells which one of several.
	Index int
	Errno syscall.Errno
	// Detail is what it has failed for, a path above all, or what can be done about
	// it; it may be empty.
	Detail string
}

// Step is something that the helper does.
type Step byte

// Steps.
const (
	Executing    Step = iota + 1 // has not failed
	Reading                      // the plan makes no sense
	Entering                     // Plan.Dir
	Limiting                     // Plan.Rlimits
	Writing                      // Plan.Writes
	Execution                    // of the program
	Isolating                    // the namespaces are not what they should be
	Mounting                     // Confinement.Base and Mounts
	Devices                      // /dev
	Processes                    // /proc
	Networking                   // Confinement.Offline and Listen
	Capabilities                 // that have to go
	Landlocking                  // Confinement.Landlock
	Filtering                    // Confinement.Filter
	Forking                      // of the program's process
	stepsEnd
)

var stepNames = [stepsEnd]string{
	Executing: "execution", Reading: "plan", Entering: "cwd", Limiting: "limits", Writing: "limits",
	Execution: "execution", Isolating: "user namespace", Mounting: "mounts", Devices: "dev", Processes: "proc",
	Networking: "network", Capabilities: "capabilities", Landlocking: "landlock", Filtering: "seccomp", Forking: "fork",
}

// String returns the stage of the set-up that a step belongs to, as users see it.
func (s Step) String() string {
	if s < stepsEnd && stepNames[s] != "" {
		return stepNames[s]
	}
	return "unknown"
}

// maxDetail bounds the text in a message; longer ones are cut.
const maxDetail = 4096

func appendDetail(b []byte, text string) []byte {
	return appendText(b, text[:min(len(text), maxDetail)])
}

func (d *decoder) detail() string {
	text := d.text()
	d.bad = d.bad || len(text) > maxDetail
	return text
}

// Append appends an encoded answer.
func (a Answer) Append(b []byte) []byte {
	b = append(b, byte(a.Step))
	b = binary.AppendUvarint(b, uint64(a.Index))
	b = binary.AppendUvarint(b, uint64(a.Errno))
	return appendDetail(b, a.Detail)
}

func (d *decoder) answer() Answer {
	return Answer{
		Step: Step(d.inRange(byte(stepsEnd - 1))), Index: d.small(), Errno: syscall.Errno(d.small()), Detail: d.detail(),
	}
}

// DecodeAnswers returns the last of the answers in b, which is the one that
// counts. There is none if the helper has died.
func DecodeAnswers(b []byte) (last Answer, ok bool) {
	d := decoder{rest: b}
	for len(d.rest) > 0 && !d.bad {
		last, ok = d.answer(), true
	}
	if d.bad {
		return Answer{}, false
	}
	return last, ok
}

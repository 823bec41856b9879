package main

import (
	"fmt"

	"github.com/airlock-exec/airlock/client"
	"github.com/airlock-exec/airlock/protocol"
)

// verboseSink tells about the sandbox besides.
type verboseSink struct{ plainSink }

func (s verboseSink) started(info *startedInfo) error {
	fmt.Fprintf(s.notices(), "airlock: %s\n", tierText(info.tier))
	return nil
}

func (s verboseSink) event(e client.Event) error {
	for i := range e.Denials {
		fmt.Fprintf(s.notices(), "airlock: the sandbox denied %s\n", denialText(&e.Denials[i]))
	}
	if e.SandboxDenied && len(e.Denials) == 0 && e.SetupError == nil {
		fmt.Fprintln(s.notices(), "airlock: by what the command says, the sandbox denied it something")
	}
	return s.plainSink.event(e)
}

// tierText says what a sandbox is made of.
func tierText(tier protocol.SandboxTier) string {
	switch tier {
	case "":
		return "the executor does not tell what the sandbox is made of"
	case protocol.TierNone:
		return "the policy restricts nothing: there is no sandbox"
	case protocol.TierSeccomp:
		return "the policy restricts no files: the sandbox is a filter of system calls"
	case protocol.TierNamespaces:
		return "the sandbox is made of namespaces"
	case protocol.TierLandlock:
		return "the sandbox is made of Landlock and a filter of system calls, without namespaces"
	default: // others may be added
		return "the sandbox is made of " + printable(string(tier))
	}
}

// denialText says what was denied, with everything escaped that the command may
// have chosen.
func denialText(d *protocol.Denial) string {
	text := printable(d.What)
	if d.Path != "" {
		text += " of " + printable(d.Path)
	}
	if d.Address != "" {
		text += " (" + printable(d.Address) + ")"
	}
	if d.Count > 1 {
		text += fmt.Sprintf(", %d times", d.Count)
	}
	return text
}

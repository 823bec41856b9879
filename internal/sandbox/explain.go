package sandbox

import (
	"fmt"
	"path"

	"github.com/airlock-exec/airlock/protocol"
)

// Verdict is what a policy says of a path.
type Verdict struct {
	// Path is where the asked one leads on the host.
	Path string
	// Access is "write", "read", "deny" or, if no entry contains the path, "none".
	Access string
	// Decided is the path that the deciding entry is about, "" if there is none.
	Decided string
	// Why says in a sentence which entry decides, and why no other one.
	Why string
	// Plan is the whole.
	Plan *Plan
}

// Explain tells what a request comes to for a clean absolute path, and why.
func Explain(request Request, host Host, name string) (*Verdict, error) {
	r := &resolver{request: request, host: look(host)}
	p, err := r.resolve()
	if err != nil {
		return nil, err
	}
	p.Warnings = r.warnings
	v := &Verdict{Path: path.Clean(name), Plan: p}
	if p.Kind != Isolated {
		v.Access, v.Why = writable.String(), "the policy restricts no files"
		return v, nil
	}
	at, err := locate(r.host, v.Path)
	if err != nil {
		return nil, protocol.Errorf(protocol.CodeInvalidParams, "%s can't be looked for: %v", name, err)
	}
	v.Path = at.real
	decided, found := r.rules.deciding(at.real)
	if found && madeInside(decided) || insideDevices(at.real, decided) {
		v.Access, v.Why = "none", "the sandbox has a /proc and a /dev of its own, which this is not from"
		return v, nil
	}
	v.Access = decided.grade.String()
	if !found {
		v.Why = "no entry contains it, so it is not there"
		return v, nil
	}
	v.Decided = decided.path
	v.Why = fmt.Sprintf("decided by %s, the longest path that contains it: %s", decided.origin, decided.path)
	if above, ok := r.rules.above(decided.path); ok {
		v.Why += fmt.Sprintf("; without that, %s would say %s", above.origin, above.grade)
	}
	return v, nil
}

// insideDevices tells whether a path is in a directory that a sandbox has of its own,
// and nothing in there decides about it.
func insideDevices(name string, decided rule) bool {
	return within(name, "/proc") && !within(decided.path, "/proc") ||
		within(name, "/dev") && !within(decided.path, "/dev")
}

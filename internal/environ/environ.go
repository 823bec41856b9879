// Package environ makes the environment of a child: what it inherits, what the
// start lays over it, and what must never reach it. It holds no state.
package environ

import (
	"maps"
	"slices"
	"strings"

	"github.com/airlock-exec/airlock/protocol"
)

// Params say what a child's environment is made from.
type Params struct {
	// Policy, if not nil, says what is inherited; without it nothing is.
	Policy *protocol.EnvPolicy
	// Env is laid over what is inherited.
	Env map[string]string
	// Metadata are the labels of the process, or nil.
	Metadata *protocol.Metadata
	// TTY tells that the child has a terminal.
	TTY bool
	// LoginShell is the SHELL of a child with a terminal that has none.
	LoginShell string
}

// Variables that carry the labels of a process. They authorise nothing.
const (
	threadIDName   = "CODEX_THREAD_ID"
	toolCallIDName = "CODEX_TOOL_CALL_ID"
)

// withheld are names that no child gets to see, in whatever case they are
// spelled: they are the agent's own credentials.
var withheld = map[string]bool{
	"CODEX_EXEC_SERVER_NOISE_AUTH_TOKEN": true,
	"NODE_REPL_AUTH_TOKEN":               true,
	"OPENAI_FEDERATION_RULE_ID":          true,
	"OPENAI_IDENTITY_TOKEN_FILE":         true,
	"OPENAI_IDENTITY_TOKEN_SOURCE":       true,
	"OPENAI_SPIFFE_AUDIENCE":             true,
	"OPENAI_SPIFFE_ID":                   true,
	"OPENAI_WORKLOAD_IDENTITY_CONTEXT":   true,
}

// exitOnStdinClose is a switch of the executor itself, withheld in this very
// spelling.
const exitOnStdinClose = "CODEX_EXEC_SERVER_EXIT_ON_STDIN_CLOSE"

// Build returns the environment as "NAME=value" entries, sorted by name, each
// name once. Base is the executor's own environment in the same form.
func Build(base []string, p Params) []string {
	vars := variables{}
	if p.Policy != nil {
		vars = inherited(base, p.Policy)
	}
	vars.setAll(p.Env)
	delete(vars, exitOnStdinClose)
	maps.DeleteFunc(vars, func(name, _ string) bool { return withheld[strings.ToUpper(name)] })
	label(vars, p.Metadata)
	if _, has := vars["SHELL"]; p.TTY && !has {
		vars["SHELL"] = p.LoginShell
	}
	return vars.entries()
}

// variables maps names to values.
type variables map[string]string

// set sets a variable, in place of one whose name is the same to the platform.
func (v variables) set(name, value string) {
	v.unset(name)
	v[name] = value
}

// setAll sets variables in the order of their names, so that of several that
// are the same to the platform always the same one wins.
func (v variables) setAll(vars map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		v.set(name, vars[name])
	}
}

func (v variables) unset(name string) {
	if foldNames {
		maps.DeleteFunc(v, func(other, _ string) bool { return strings.EqualFold(other, name) })
		return
	}
	delete(v, name)
}

func (v variables) entries() []string {
	entries := make([]string, 0, len(v))
	for _, name := range slices.Sorted(maps.Keys(v)) {
		entries = append(entries, name+"="+v[name])
	}
	return entries
}

// inherited returns what the policy makes of the executor's environment. The
// steps are in the order of the policy's members.
func inherited(base []string, policy *protocol.EnvPolicy) variables {
	vars := variables{}
	for _, entry := range base {
		name, value, _ := strings.Cut(entry, "=")
		if name == "" {
			continue // Windows keeps the working directories of drives so
		}
		if policy.Inherit == protocol.InheritAll ||
			policy.Inherit == protocol.InheritCore && coreNames[strings.ToUpper(name)] {
			vars.set(name, value)
		}
	}
	if !policy.IgnoreDefaultExcludes {
		vars.dropMatching(defaultExcludes)
	}
	vars.dropMatching(patterns(policy.Exclude))
	vars.setAll(policy.Set)
	if len(policy.IncludeOnly) > 0 {
		keep := patterns(policy.IncludeOnly)
		maps.DeleteFunc(vars, func(name, _ string) bool { return !matchAny(keep, name) })
	}
	vars.addPlatformDefaults()
	return vars
}

// defaultExcludes match names that look like credentials.
var defaultExcludes = patterns([]string{"*KEY*", "*SECRET*", "*TOKEN*"})

func (v variables) dropMatching(drop []pattern) {
	maps.DeleteFunc(v, func(name, _ string) bool { return matchAny(drop, name) })
}

// label sets the labels of a process. Without metadata a thread id stays as it
// is, so that a nested agent keeps its own; a tool call's never does.
func label(vars variables, metadata *protocol.Metadata) {
	vars.unset(toolCallIDName)
	if metadata == nil {
		return
	}
	vars.unset(threadIDName)
	if metadata.ThreadID != nil {
		vars[threadIDName] = metadata.ThreadID.String()
	}
	// A value that no environment can hold is left out.
	if id := metadata.ToolCallID; id != nil && !strings.Contains(*id, "\x00") {
		vars[toolCallIDName] = *id
	}
}

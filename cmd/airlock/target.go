package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/airlock-exec/airlock/protocol"
)

// target is a session, or a process of one, as it is typed: SESSION[/PROCESS].
// Each is the beginning of an id that no other one has.
type target struct {
	session string // in lower case
	process string // empty: none
}

// maxTargets is how many candidates an error lists.
const maxTargets = 10

// parseTarget parses SESSION[/PROCESS]. Ids of processes may hold slashes.
func parseTarget(text string) (target, error) {
	session, process, hasProcess := strings.Cut(text, "/")
	t := target{strings.ToLower(session), process}
	switch {
	case session == "" || strings.Trim(t.session, "0123456789abcdef-") != "":
		return target{}, fmt.Errorf("%q: expected SESSION or SESSION/PROCESS, with the beginning of a session's id, "+
			"which is hexadecimal (0-9 and a-f), as `airlock ps` shows it", text)
	case hasProcess && process == "":
		return target{}, fmt.Errorf("%q: the process is missing behind the slash", text)
	}
	return t, nil
}

// found is a target that there is.
type found struct {
	executor *operated
	session  protocol.SessionInfo
	process  *protocol.ProcessInfo // nil: the whole session
}

func (f *found) String() string {
	if f.process == nil {
		return short(f.session.SessionID)
	}
	return short(f.session.SessionID) + "/" + printable(f.process.ProcessID)
}

// find returns what a target means among the sessions of the executors.
func (t target) find(ctx context.Context, all []*operated) (*found, error) {
	var sessions []found
	var names, others []string
	for _, o := range all {
		for _, s := range o.sessions {
			name := sessionName(s)
			if strings.HasPrefix(s.SessionID, t.session) {
				sessions, names = append(sessions, found{executor: o, session: s}), append(names, name)
			} else {
				others = append(others, name)
			}
		}
	}
	switch {
	case len(sessions) > 1:
		return nil, fmt.Errorf("session %s: several begin like that: %s", t.session, list(names))
	case len(sessions) == 0 && len(others) == 0:
		return nil, fmt.Errorf("session %s: there are no sessions", t.session)
	case len(sessions) == 0:
		return nil, fmt.Errorf("session %s: none begins like that; there are %s", t.session, list(others))
	}
	f := &sessions[0]
	if t.process == "" {
		return f, nil
	}
	processes, err := f.executor.processes(ctx, f.session.SessionID, false)
	if err != nil {
		return nil, err
	}
	f.process, err = t.chooseProcess(processes)
	return f, err
}

// sessionName shows a session in a list: enough of its id to choose it by.
func sessionName(s protocol.SessionInfo) string {
	return short(s.SessionID) + " (" + printable(s.ClientName) + ")"
}

// chooseProcess returns the process that is meant. The whole id counts for more
// than a beginning; it can also be typed as it is shown.
func (t target) chooseProcess(processes []protocol.ProcessInfo) (*protocol.ProcessInfo, error) {
	var matches, exact []*protocol.ProcessInfo
	for i := range processes {
		id, shown := processes[i].ProcessID, printable(processes[i].ProcessID)
		if id == t.process || shown == t.process {
			exact = append(exact, &processes[i])
		}
		if strings.HasPrefix(id, t.process) || strings.HasPrefix(shown, t.process) {
			matches = append(matches, &processes[i])
		}
	}
	if len(exact) == 1 {
		return exact[0], nil
	}
	what := fmt.Sprintf("process %s of session %s", printable(t.process), t.session)
	switch {
	case len(matches) == 1:
		return matches[0], nil
	case len(matches) > 1:
		return nil, fmt.Errorf("%s: several begin like that: %s", what, processNames(matches))
	case len(processes) == 0:
		return nil, fmt.Errorf("%s: the session has no processes", what)
	}
	for i := range processes {
		matches = append(matches, &processes[i])
	}
	return nil, fmt.Errorf("%s: none begins like that; there are %s", what, processNames(matches))
}

// onlyProcess chooses the process of a session that has one: one that runs counts
// for more than those that have ended.
func (f *found) onlyProcess(ctx context.Context) error {
	if f.process != nil {
		return nil
	}
	processes, err := f.executor.processes(ctx, f.session.SessionID, false)
	if err != nil {
		return err
	}
	var all, live []*protocol.ProcessInfo
	for i := range processes {
		all = append(all, &processes[i])
		if processes[i].State != protocol.StateClosed {
			live = append(live, &processes[i])
		}
	}
	switch {
	case len(live) == 1:
		f.process = live[0]
	case len(all) == 1:
		f.process = all[0]
	case len(all) == 0:
		return fmt.Errorf("session %s has no processes", short(f.session.SessionID))
	default:
		if live == nil {
			live = all
		}
		return fmt.Errorf("session %s has several processes: add a slash and one of %s",
			short(f.session.SessionID), processNames(live))
	}
	return nil
}

func processNames(processes []*protocol.ProcessInfo) string {
	var names []string
	for _, p := range processes {
		names = append(names, cut(printable(p.ProcessID), maxIDWidth))
	}
	return list(names)
}

// list joins names, but not too many.
func list(names []string) string {
	if more := len(names) - maxTargets; more > 0 {
		return strings.Join(names[:maxTargets], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(names, ", ")
}

// Package doctor finds out what this host offers to Airlock, and how to mend what
// is missing. [Examine] tries things for real, and undoes what it does: no
// process, file, control group or socket is left when it returns, except by a
// probe that hangs. As every start of Airlock does, it removes what dead daemons
// of the same user have left behind.
//
// # The report
//
// A [Report] is what `airlock doctor --json` prints, and what is said here of its
// members holds for that: names and values may be added, none will change its
// meaning within a format version. Found and Mend are for people and change as
// wording improves; programs go by Name, Status, Default and Facts.
//
// # Concurrency
//
// Examine may be called by any goroutine. Its probes run one after the other,
// because some of them would see what others make.
package doctor

import (
	"context"
	"fmt"
	"runtime"
	"time"
)

// FormatVersion is the version of the report's form. It grows when something
// changes its meaning.
const FormatVersion = 1

// Status is how something fares.
type Status string

// Statuses.
const (
	// OK means that it works as well as Airlock can make use of.
	OK Status = "ok"
	// Weaker means that Airlock works without, but not as well: Found says what
	// is lost.
	Weaker Status = "weaker"
	// Missing means that it does not work, or that the probe has not answered.
	Missing Status = "missing"
)

// Group is what kind of thing a check looks at.
type Group string

// Groups, in the order of the report.
const (
	Processes Group = "processes" // to run commands, and whole trees of them
	Limits    Group = "limits"    // to bound what a command takes
	Sandbox   Group = "sandbox"   // to confine a command
	Room      Group = "room"      // how much fits
	Folders   Group = "folders"   // where files and sockets go
	System    Group = "system"    // what kind of host it is
)

// Report is what has been found.
type Report struct {
	// FormatVersion is [FormatVersion].
	FormatVersion int `json:"formatVersion"`
	// DefaultsAvailable tells that no check is missing that a default of Airlock
	// depends on.
	DefaultsAvailable bool `json:"defaultsAvailable"`
	// OS and Arch are Go's names of the system.
	OS   string `json:"os"`
	Arch string `json:"arch"`
	// UserID is the effective user; -1 on Windows. Most answers depend on it.
	UserID int `json:"userId"`
	// Checks has one entry for each thing that was looked at, by group. Which
	// there are depends on the system.
	Checks []Check `json:"checks"`
}

// Check is one thing that was looked at.
type Check struct {
	// Name identifies it.
	Name string `json:"name"`
	// Group is what it is listed with.
	Group Group `json:"group"`
	// Status is how it fares.
	Status Status `json:"status"`
	// Default tells that Airlock makes use of it unless told otherwise.
	Default bool `json:"default"`
	// Found says what was found, Purpose what it is for.
	Found   string `json:"found"`
	Purpose string `json:"purpose"`
	// Mend says what to do about it. It is empty if there is nothing to do.
	Mend string `json:"mend,omitzero"`
	// Facts are what was found for programs: texts, numbers, booleans and lists
	// of texts. Sizes are in bytes.
	Facts map[string]any `json:"facts,omitempty"`
}

// Unavailable returns the names of the checks that are missing and that a default
// depends on.
func (r *Report) Unavailable() (names []string) {
	for _, c := range r.Checks {
		if c.Default && c.Status == Missing {
			names = append(names, c.Name)
		}
	}
	return names
}

// patience is how long one probe may take.
const patience = 5 * time.Second

// probe is one thing to look at.
type probe struct {
	name      string
	group     Group
	isDefault bool
	purpose   string
	examine   func(*host) result
}

// result is what a probe has found. See [Check].
type result struct {
	status Status
	found  string
	mend   string
	facts  map[string]any
	// blocks tells that what is weaker keeps the sandbox from working.
	blocks bool
}

// Examine looks at this host. Each probe may take some seconds, but takes
// milliseconds; one that does not answer is reported as missing. The error is the
// context's: there is no report then.
func Examine(ctx context.Context) (*Report, error) {
	return examine(ctx, newHost(), probes())
}

func examine(ctx context.Context, h *host, probes []probe) (*Report, error) {
	r := &Report{
		FormatVersion: FormatVersion,
		OS:            runtime.GOOS,
		Arch:          runtime.GOARCH,
		UserID:        h.uid,
	}
	for _, p := range probes {
		c, err := p.run(ctx, h)
		if err != nil {
			return nil, fmt.Errorf("examining %s: %w", p.name, err)
		}
		r.Checks = append(r.Checks, c)
	}
	r.DefaultsAvailable = len(r.Unavailable()) == 0
	return r, nil
}

// run carries out a probe. One that hangs keeps its goroutine: nothing can be done
// about a system call that does not return.
func (p *probe) run(ctx context.Context, h *host) (Check, error) {
	done := make(chan result, 1)
	go func() { done <- p.examine(h) }()
	late := time.NewTimer(patience)
	defer late.Stop()
	var r result
	select {
	case r = <-done:
	case <-late.C:
		r = result{
			status: Missing,
			found:  fmt.Sprintf("the probe has not answered in %v", patience),
			mend:   "Something in the system hangs or is overloaded: look at its log, and try again.",
		}
	case <-ctx.Done():
		return Check{}, context.Cause(ctx)
	}
	return Check{
		Name: p.name, Group: p.group, Default: p.isDefault, Purpose: p.purpose,
		Status: r.status, Found: r.found, Mend: r.mend, Facts: r.facts,
	}, nil
}

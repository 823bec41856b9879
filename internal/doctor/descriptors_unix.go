//go:build unix

package doctor

import (
	"fmt"

	"github.com/airlock-exec/airlock/internal/limits"
)

const descriptorsPurpose = "for the pipes, terminals and files of processes, and for connections"

const (
	// perProcess is how many descriptors a process takes at most: three pipes or
	// a terminal, its pidfd, its control group, the file for its output.
	perProcess = 6
	// aside is how many are left for everything else.
	aside = 64
	// fewDescriptors is less than what systems give by default.
	fewDescriptors = 1024
)

// descriptorRoom tells how many processes fit into the limit of open files.
func (h *host) descriptorRoom() result {
	limit, err := h.descriptors()
	if err != nil {
		return result{status: Missing, found: err.Error(), mend: "The limit of open files must be readable: see `ulimit -n`."}
	}
	fit := (max(limit, aside) - aside) / perProcess
	r := result{
		status: OK,
		found: fmt.Sprintf("%d files may be open, enough for about %d processes at a time (a session may have %d)",
			limit, fit, limits.ProcessesPerSession),
		facts: map[string]any{"limit": limit, "processes": fit},
	}
	if limit < fewDescriptors {
		r.status, r.mend = Weaker, moreDescriptors
	}
	return r
}

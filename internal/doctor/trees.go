package doctor

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/airlock-exec/airlock/internal/spawn/tree"
)

const treesPurpose = "to kill a command with all that it has started, also what tries to get away"

// trees tells by what means trees of processes are held together.
func (h *host) trees() result {
	means, why, err := h.openTrees()
	if err != nil {
		return result{
			status: Missing,
			found:  err.Error(),
			mend:   "Make one of these ways possible, each of which says what it lacks: without one no command can be started.",
		}
	}
	r := result{facts: map[string]any{"means": string(means)}}
	if why != "" {
		r.facts["why"] = why
	}
	switch means {
	case tree.Cgroup2:
		r.status, r.found = OK, "each command gets a control group of version 2 (cgroup2)"
	case tree.Freezer:
		r.status, r.found = OK, "each command gets a control group of version 1 (freezer)"
	case tree.Job:
		r.status, r.found = OK, "each command gets a job object (job)"
	case tree.Walk:
		r.status, r.mend = Weaker, strongerTrees
		r.found = "members are looked for among all processes (walk), where one that is out to hide can get away"
	case tree.Group, tree.Auto:
		r.status, r.mend = Weaker, strongerTrees
		r.found = "only process groups are reached (" + string(means) + "), which any process can leave"
	default:
		r.status, r.found = OK, "they are held together by "+string(means)
	}
	if why != "" {
		r.found += "; " + why
	}
	return r
}

// openTrees implements host. The folder in which some means keep a file is
// theirs to make; if they have, and nobody else uses it, it goes again.
func openTrees() (means tree.Means, why string, err error) {
	var made []string
	for _, path := range []string{
		filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "airlock"),
		filepath.Join(os.TempDir(), "airlock-"+strconv.Itoa(os.Geteuid())),
	} {
		if _, err := os.Lstat(path); os.IsNotExist(err) && filepath.IsAbs(path) {
			made = append(made, path)
		}
	}
	k, err := tree.Open(tree.Config{})
	if err != nil {
		return "", "", err
	}
	err = k.Close()
	for _, path := range made {
		_ = os.Remove(path) // which spares one that is not empty
	}
	if err != nil {
		return "", "", fmt.Errorf("removing what has been made to hold processes together by %s: %w", k.Means(), err)
	}
	return k.Means(), k.Why(), nil
}

package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

const (
	cgroupsPurpose       = "to hold the trees of processes together, and to limit what they take"
	memoryLimitPurpose   = "to limit the memory of a command with all that it starts (airlock run --limit-memory)"
	processLimitPurpose  = "to limit how many processes a command can start (airlock run --limit-processes)"
	unified              = "boot with systemd.unified_cgroup_hierarchy=1, as current distributions do"
	memory, pids, freeze = "memory", "pids", "freezer"
)

// controlGroups tells in which hierarchies this program can make groups.
func (h *host) controlGroups() result {
	facts := map[string]any{}
	second, err2 := h.usable("")
	if second.dir != "" {
		facts["version2"] = second.dir
		facts["controllers"] = h.words(second.dir + "/cgroup.controllers")
		facts["handedOn"] = h.words(second.dir + "/cgroup.subtree_control")
	}
	// The root of all groups has neither file.
	if err2 == nil && h.exists(second.dir+"/cgroup.type") && !h.exists(second.dir+"/cgroup.kill") {
		err2 = errors.New("the kernel can't kill a group at once, which came with Linux 5.14")
	}
	var first []string // the controllers of version 1
	var err1 error
	for _, controller := range []string{freeze, memory, pids} {
		g, err := h.usable(controller)
		switch {
		case err == nil:
			first = append(first, controller)
		case !errors.Is(err, errNoHierarchy) && err1 == nil:
			err1 = err
		}
		if g.dir != "" {
			facts["version1."+controller] = g.dir
		}
	}
	r := result{facts: facts}
	switch {
	case err2 == nil && len(first) > 0:
		r.status, r.found = OK, fmt.Sprintf("groups of version 2 can be made in %s, and of version 1 (%s)", second.dir, strings.Join(first, ", "))
	case err2 == nil:
		r.status, r.found = OK, "groups of version 2 can be made in "+second.dir
	case slices.Contains(first, freeze):
		r.status, r.found = Weaker, fmt.Sprintf("only groups of version 1 can be made (%s); of version 2: %v", strings.Join(first, ", "), err2)
		r.mend = mendCgroup(err2)
	default:
		r.status, r.found, r.mend = Missing, "none can be made; version 2: "+err2.Error(), mendCgroup(err2)
		if err1 != nil {
			r.found += "; version 1: " + err1.Error()
		}
	}
	return r
}

// usable returns the control group of this program, and why no others can be made
// in it.
func (h *host) usable(controller string) (cgroup, error) {
	g, err := h.ownCgroup(controller)
	if err != nil {
		return g, err
	}
	// Processes come into a group by a file that belongs to it, and, in version
	// 2, with the right to the one that they come from.
	files := []string{"", "/cgroup.procs"}
	if controller != "" {
		files = []string{"", "/tasks"}
	}
	for _, file := range files {
		if err := h.writable(g.dir + file); err != nil {
			return g, err
		}
	}
	return g, nil
}

func mendCgroup(err error) string {
	switch {
	case errors.Is(err, syscall.EROFS), errors.Is(err, fs.ErrPermission):
		return strongerTrees
	case errors.Is(err, errNoHierarchy):
		return "Use a kernel with CONFIG_CGROUPS=y, and mount version 2: `mount -t cgroup2 none /sys/fs/cgroup`; with systemd, " + unified + "."
	case errors.Is(err, fs.ErrNotExist):
		return "Mount /proc: `mount -t proc none /proc`."
	default:
		return "Mount version 2 with the group of this program: `mount -t cgroup2 none /sys/fs/cgroup`; in a container, " +
			"start it with a namespace of control groups (`docker run --cgroupns private`)."
	}
}

// memoryLimits tells by what the memory of a tree can be limited.
func (h *host) memoryLimits() result { return h.limitBy(memory) }

// processLimits tells by what the number of its processes can be limited.
func (h *host) processLimits() result { return h.limitBy(pids) }

// limitBy tells by what version of control groups a controller can be used.
func (h *host) limitBy(controller string) result {
	second, how, err2 := h.handsOn(controller)
	if err2 == nil {
		return result{
			status: OK, found: "control groups of version 2 in " + second + " can do it" + how,
			facts: map[string]any{"mechanism": "cgroup2"},
		}
	}
	first, err1 := h.usable(controller)
	if err1 == nil {
		return result{
			status: OK, found: "control groups of version 1 in " + first.dir + " can do it",
			facts: map[string]any{"mechanism": "cgroup1"},
		}
	}
	r := result{status: Missing, found: "such limits are refused; version 2 of control groups: " + err2.Error(), mend: mendCgroup(err2)}
	if !errors.Is(err1, errNoHierarchy) {
		r.found += "; version 1: " + err1.Error()
	}
	switch {
	case errors.Is(err2, errCrowded):
		r.mend = "Start Airlock in a control group of its own: Delegate=yes in the unit of `airlock serve`, or " +
			"`systemd-run --user --scope -p Delegate=yes airlock serve` (or `… airlock doctor`, to see that it helps); without systemd, " +
			"make one below this, and start Airlock by a shell that has written 0 to its cgroup.procs and executes it."
	case errors.Is(err2, errNoController):
		r.mend = fmt.Sprintf("With systemd: Delegate=yes, or Delegate=%s, in the unit of `airlock serve`. "+
			"Where version 1 of control groups has the controller: %s.", controller, unified)
	}
	return r
}

var (
	errCrowded      = errors.New("other processes are in it, so that the groups in it get none")
	errNoController = errors.New("there is no such controller")
)

// handsOn returns the control group of this program in version 2, if the groups
// in it can have a controller, and what that takes.
func (h *host) handsOn(controller string) (dir, how string, err error) {
	g, err := h.usable("")
	if err != nil {
		return "", "", err
	}
	if slices.Contains(h.words(g.dir+"/cgroup.subtree_control"), controller) {
		return g.dir, "", nil
	}
	if !slices.Contains(h.words(g.dir+"/cgroup.controllers"), controller) {
		return "", "", fmt.Errorf("%s: %w (%s)", g.dir, errNoController, controller)
	}
	if err := h.writable(g.dir + "/cgroup.subtree_control"); err != nil {
		return "", "", err
	}
	// Only the root of all groups, which has no type, may have processes and
	// hand controllers on. The daemon leaves another one for a group in it.
	if !h.exists(g.dir + "/cgroup.type") {
		return g.dir, ", once it hands the controller on", nil
	}
	for _, pid := range h.words(g.dir + "/cgroup.procs") {
		if pid != strconv.Itoa(h.pid) {
			return "", "", fmt.Errorf("%s has the %s controller, but %w", g.dir, controller, errCrowded)
		}
	}
	return g.dir, ", once the daemon has moved to a group in it", nil
}

package doctor

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

// mount is what we need of a line of /proc/self/mountinfo.
type mount struct {
	root, point, kind string
	options           []string // of the file system
}

// mounts returns what this program sees mounted.
func (h *host) mounts() (mounts []mount) {
	text, _ := h.read("/proc/self/mountinfo")
	for line := range strings.Lines(text) {
		before, after, ok := strings.Cut(line, " - ")
		fields, system := strings.Fields(before), strings.Fields(after)
		if !ok || len(fields) < 6 || len(system) < 3 {
			continue
		}
		mounts = append(mounts, mount{
			root:    unescape(fields[3]),
			point:   unescape(fields[4]),
			kind:    system[0],
			options: strings.Split(system[2], ","),
		})
	}
	return mounts
}

// unescape replaces the octal escapes that stand for blanks and backslashes.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if c, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(c))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// cgroup is the control group of this program in one hierarchy.
type cgroup struct {
	top string // where the hierarchy is mounted
	dir string // the group's own folder, in it
}

var errNoHierarchy = errors.New("the system has none")

// ownCgroup returns the control group of this program: in version 2 if controller
// is empty, else in the hierarchy of version 1 with that controller.
func (h *host) ownCgroup(controller string) (cgroup, error) {
	groups, err := h.read("/proc/self/cgroup")
	if err != nil {
		return cgroup{}, err
	}
	own, ok := groupPath(groups, controller)
	if !ok {
		return cgroup{}, errNoHierarchy
	}
	for _, m := range h.mounts() {
		right := m.kind == "cgroup2"
		if controller != "" {
			right = m.kind == "cgroup" && slices.Contains(m.options, controller)
		}
		if !right || strings.HasPrefix(own, "/..") {
			continue
		}
		below, inside := strings.CutPrefix(own, strings.TrimSuffix(m.root, "/"))
		if inside && (below == "" || below[0] == '/') {
			return cgroup{top: m.point, dir: path.Join(m.point, below)}, nil
		}
	}
	return cgroup{}, fmt.Errorf("it is not mounted here, or without the group of this program (%s)", own)
}

// groupPath returns the path that /proc/self/cgroup gives.
func groupPath(groups, controller string) (own string, ok bool) {
	for line := range strings.Lines(groups) {
		id, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		controllers, own, _ := strings.Cut(rest, ":")
		if controller == "" && id == "0" && controllers == "" ||
			controller != "" && slices.Contains(strings.Split(controllers, ","), controller) {
			return own, true
		}
	}
	return "", false
}

// upwards returns the folders from the group's own to the top of the hierarchy:
// what is set in any of them holds for the group.
func (g cgroup) upwards() (dirs []string) {
	for dir := g.dir; ; dir = path.Dir(dir) {
		dirs = append(dirs, dir)
		if dir == g.top || len(dir) <= len(g.top) {
			return dirs
		}
	}
}

// words returns the words in a file of the system.
func (h *host) words(path string) []string {
	text, _ := h.read(path)
	return strings.Fields(text)
}

package tree

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
)

// ownCgroup returns the folder of the control group that this program is in:
// in version 2 if controller is empty, else in the hierarchy of version 1 that
// has that controller.
func ownCgroup(controller string) (string, error) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", err
	}
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	return findCgroup(string(mounts), string(groups), controller)
}

func findCgroup(mounts, groups, controller string) (string, error) {
	name := "control groups of version 2"
	if controller != "" {
		name = "control groups of version 1 with the " + controller + " controller"
	}
	own, ok := groupPath(groups, controller)
	if !ok {
		return "", fmt.Errorf("the system has no %s", name)
	}
	for line := range strings.Lines(mounts) {
		m, ok := parseMount(line)
		if !ok || !m.has(controller) {
			continue
		}
		if below, ok := relativeTo(m.root, own); ok {
			return path.Join(m.point, below), nil
		}
	}
	return "", fmt.Errorf("%s are not mounted, or without the one of this program (%s)", name, own)
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

// relativeTo returns a control group's path below the root of a mount. In a
// namespace of its own a program can see one that lies outside, as "/..".
func relativeTo(root, own string) (below string, ok bool) {
	if strings.HasPrefix(own, "/..") || strings.HasSuffix(own, " (deleted)") {
		return "", false
	}
	if root == "/" {
		return own, true
	}
	below, ok = strings.CutPrefix(own, root)
	return below, ok && (below == "" || below[0] == '/')
}

// mount is what we need of a line of /proc/self/mountinfo.
type mount struct {
	root, point, kind string
	options           []string // of the file system
}

func (m mount) has(controller string) bool {
	if controller == "" {
		return m.kind == "cgroup2"
	}
	return m.kind == "cgroup" && slices.Contains(m.options, controller)
}

func parseMount(line string) (mount, bool) {
	before, after, ok := strings.Cut(line, " - ")
	fields, system := strings.Fields(before), strings.Fields(after)
	if !ok || len(fields) < 6 || len(system) < 3 {
		return mount{}, false
	}
	return mount{
		root:    unescape(fields[3]),
		point:   unescape(fields[4]),
		kind:    system[0],
		options: strings.Split(system[2], ","),
	}, true
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

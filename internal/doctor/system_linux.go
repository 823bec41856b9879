package doctor

import (
	"fmt"
	"strconv"
	"strings"
)

const (
	kernelPurpose    = "everything; newer ones have more that Airlock makes use of"
	containerPurpose = "tells whether the host has to be asked for what is missing"
)

// kernelNews are what versions have brought that Airlock makes use of.
var kernelNews = []struct {
	major, minor int
	what         string
}{
	{5, 3, "to wait for processes without a thread for each"},
	{5, 11, "to close inherited files at once"},
	{5, 14, "to kill a control group at once"},
}

// kernel tells which kernel it is.
func (h *host) kernel() result {
	major, minor, ok := parseRelease(h.release)
	if !ok {
		return result{
			status: Weaker, found: fmt.Sprintf("its version can't be told from %q", h.release),
			mend: "Use Linux 5.14 or newer.",
		}
	}
	r := result{status: OK, found: "Linux " + h.release, facts: map[string]any{"release": h.release}}
	var lacks []string
	for _, n := range kernelNews {
		if major < n.major || major == n.major && minor < n.minor {
			lacks = append(lacks, n.what)
		}
	}
	if len(lacks) > 0 {
		r.status, r.mend = Weaker, "Use Linux 5.14 or newer."
		r.found += ", which has no means " + strings.Join(lacks, ", ") + " (unless they have been ported back)"
	}
	return r
}

// parseRelease returns the version that the release of a kernel begins with.
func parseRelease(release string) (major, minor int, ok bool) {
	first, rest, _ := strings.Cut(release, ".")
	if end := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' }); end >= 0 {
		rest = rest[:end]
	}
	major, err := strconv.Atoi(first)
	if err != nil {
		return 0, 0, false
	}
	minor, err = strconv.Atoi(rest)
	return major, minor, err == nil
}

// container tells in what this program runs. It is a guess: a container can be
// without any of these signs.
func (h *host) container() result {
	name := h.containerName()
	found := "no sign of a container"
	if name != "" {
		found = "a container (" + name + ")"
	}
	first, _ := h.read("/proc/1/comm")
	switch {
	case h.pid == 1:
		found += "; this program is process 1"
	case first != "":
		found += "; process 1 is " + first
	}
	if h.isFiltered() {
		found += "; system calls are filtered"
	}
	return result{status: OK, found: found, facts: map[string]any{"container": name, "filtered": h.isFiltered(), "pid": h.pid}}
}

func (h *host) containerName() string {
	switch {
	case h.env("KUBERNETES_SERVICE_HOST") != "":
		return "kubernetes"
	case h.exists("/run/.containerenv"):
		return "podman"
	case h.exists("/.dockerenv"):
		return "docker"
	}
	if name, err := h.read("/run/systemd/container"); err == nil && name != "" {
		return name
	}
	if name := h.env("container"); name != "" {
		return name
	}
	environ, _ := h.read("/proc/1/environ") // readable by this user only if it is its own
	for entry := range strings.SplitSeq(environ, "\x00") {
		if name, ok := strings.CutPrefix(entry, "container="); ok && name != "" {
			return name
		}
	}
	groups, _ := h.read("/proc/1/cgroup")
	for _, sign := range []string{"kubepods", "docker", "libpod", "lxc", "containerd"} {
		if strings.Contains(groups, sign) {
			return sign
		}
	}
	return ""
}

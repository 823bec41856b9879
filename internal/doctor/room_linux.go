package doctor

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/airlock-exec/airlock/internal/limits"
)

const (
	processRoomPurpose = "for the daemon's threads, and for what commands start"
	memoryRoomPurpose  = "for the newest output of each process, and for what commands take"

	// fewProcesses is less than a build that uses all CPUs may start.
	fewProcesses = 512
	// littleMemory is what a busy session's output may take by itself.
	littleMemory = 256 << 20
)

// bound is one of several that hold at the same time.
type bound struct {
	room int64
	what string
	mend string
}

// processRoom tells how many more processes can be started.
func (h *host) processRoom() result {
	var bounds []bound
	for _, name := range []string{"pid_max", "threads-max"} {
		if n, ok := h.number("/proc/sys/kernel/" + name); ok {
			bounds = append(bounds, bound{n, "kernel." + name, "`sysctl -w kernel." + name + "=4194304`."})
		}
	}
	// The limit does not bind the superuser.
	if limit, err := h.processLimit(); err == nil && limit < math.MaxInt64 && h.uid != 0 {
		bounds = append(bounds, bound{
			int64(limit), "the limit of processes of this user (ulimit -u), those that run included",
			"Raise it where Airlock is started: LimitNPROC= in a systemd unit, `docker run --ulimit nproc=`, /etc/security/limits.conf.",
		})
	}
	bounds = append(bounds, h.groupBounds("pids.max", "pids.current",
		"TasksMax= of the systemd unit, `docker run --pids-limit`, podPidsLimit of the kubelet.")...)
	if len(bounds) == 0 {
		return result{status: Weaker, found: "it is not known: /proc tells no limits", mend: "Mount /proc: `mount -t proc none /proc`."}
	}
	least := tightest(bounds)
	r := result{status: OK, found: fmt.Sprintf("room for at most %d, by %s", least.room, least.what), facts: map[string]any{"room": least.room}}
	if least.room < fewProcesses {
		r.status, r.mend = Weaker, least.mend
	}
	return r
}

// memoryRoom tells how much memory there is.
func (h *host) memoryRoom() result {
	info, err := h.read("/proc/meminfo")
	total, ok := meminfo(info, "MemTotal")
	if !ok {
		if err == nil {
			err = errors.New("/proc/meminfo tells no total")
		}
		return result{
			status: Weaker, found: "it is not known: " + err.Error(),
			mend: "Mount /proc: `mount -t proc none /proc`.",
		}
	}
	bounds := []bound{{total, "what the machine has", "Give the machine more, or ask Airlock for less: --max-processes, --max-sessions."}}
	const mend = "MemoryMax= of the systemd unit, `docker run --memory`, limits.memory of the pod; or ask Airlock for less: --max-processes, --max-sessions."
	bounds = append(bounds, h.groupBounds("memory.max", "", mend)...)
	bounds = append(bounds, h.groupBounds("memory.limit_in_bytes", "", mend)...)
	least := tightest(bounds)
	r := result{
		status: OK,
		found: fmt.Sprintf("%s, by %s; the output of one process takes up to %s",
			sizeText(uint64(least.room)), least.what, sizeText(limits.RetainedBytes)),
		facts: map[string]any{"limitBytes": least.room},
	}
	if available, ok := meminfo(info, "MemAvailable"); ok {
		r.facts["availableBytes"] = available
	}
	if least.room < littleMemory {
		r.status, r.mend = Weaker, least.mend
	}
	return r
}

// groupBounds returns what a setting of control groups leaves, in this program's
// group and those around it, in either version. What is in use already is in the
// file used, if it is named.
func (h *host) groupBounds(setting, used, mend string) (bounds []bound) {
	controller, _, _ := strings.Cut(setting, ".")
	for _, hierarchy := range []string{"", controller} {
		g, err := h.ownCgroup(hierarchy)
		if err != nil {
			continue
		}
		for _, dir := range g.upwards() {
			most, ok := h.number(dir + "/" + setting)
			if !ok {
				continue // there is no such file, or it says that there is no limit
			}
			if used != "" {
				n, _ := h.number(dir + "/" + used)
				most = max(0, most-n)
			}
			bounds = append(bounds, bound{most, setting + " of " + dir, "Raise it: " + mend})
		}
	}
	return bounds
}

func tightest(bounds []bound) bound {
	least := bounds[0]
	for _, b := range bounds[1:] {
		if b.room < least.room {
			least = b
		}
	}
	return least
}

// meminfo returns a size from /proc/meminfo, in bytes.
func meminfo(info, name string) (bytes int64, ok bool) {
	for line := range strings.Lines(info) {
		if rest, found := strings.CutPrefix(line, name+":"); found {
			n, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			return n << 10, err == nil
		}
	}
	return 0, false
}

package spawn

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/airlock-exec/airlock/internal/helper/plan"
)

// isolate has the child begin in namespaces of its own.
func isolate(sys *syscall.SysProcAttr, offline bool) {
	sys.Cloneflags = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC
	if offline {
		sys.Cloneflags |= unix.CLONE_NEWNET
	}
	ids := identities()
	sys.UidMappings, sys.GidMappings = ids.users, ids.groups
	if os.Geteuid() != 0 {
		// Else they were gone when the helper has been executed.
		sys.AmbientCaps = plan.NeededCapabilities
	}
}

// mappings are the users and groups that a user namespace of ours has.
type mappings struct{ users, groups []syscall.SysProcIDMap }

// identities returns the mappings: each has the number that it has here. Who may
// not map all of them, which takes two capabilities, maps its own.
var identities = sync.OnceValue(func() mappings {
	if mayMap() {
		users, err1 := identityMap("/proc/self/uid_map")
		groups, err2 := identityMap("/proc/self/gid_map")
		if err1 == nil && err2 == nil {
			return mappings{users, groups}
		}
	}
	return mappings{
		users:  []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}},
		groups: []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}},
	}
})

func mayMap() bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	const both = 1<<unix.CAP_SETUID | 1<<unix.CAP_SETGID
	return os.Geteuid() == 0 && unix.Capget(&header, &data[0]) == nil && data[0].Effective&both == both
}

// mostRanges is how many ranges the kernel takes.
const mostRanges = 340

// identityMap returns a map of all that a map of this program's has.
func identityMap(path string) (ranges []syscall.SysProcIDMap, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var inside, outside, size int64
		if _, err := fmt.Sscan(strings.TrimSpace(lines.Text()), &inside, &outside, &size); err != nil {
			return nil, fmt.Errorf("reading %s: %w", path, err)
		}
		size = min(size, math.MaxInt)
		ranges = append(ranges, syscall.SysProcIDMap{ContainerID: int(inside), HostID: int(inside), Size: int(size)})
	}
	if len(ranges) == 0 || len(ranges) > mostRanges {
		return nil, fmt.Errorf("reading %s: it has %d ranges", path, len(ranges))
	}
	return ranges, nil
}

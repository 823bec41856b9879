package tree

import (
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// members implements [method].
func (jobs) members(trees []*Tree) []Listing { return membersEach(trees) }

// mostListed is how many processes of a job are listed.
const mostListed = 1 << 16

func (j *job) members() (found []Member, complete bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.handle == 0 {
		return nil, true
	}
	for room := 64; ; room *= 4 {
		// JOBOBJECT_BASIC_PROCESS_ID_LIST: two 32-bit counts, then the numbers.
		list := make([]uintptr, room+8/int(unsafe.Sizeof(uintptr(0))))
		err := windows.QueryInformationJobObject(j.handle, windows.JobObjectBasicProcessIdList,
			uintptr(unsafe.Pointer(&list[0])), uint32(len(list))*uint32(unsafe.Sizeof(uintptr(0))), nil)
		if err == windows.ERROR_MORE_DATA && room < mostListed {
			continue
		}
		if err != nil && err != windows.ERROR_MORE_DATA {
			return nil, false
		}
		listed := (*[2]uint32)(unsafe.Pointer(&list[0]))[1]
		ids := list[len(list)-room:]
		for _, pid := range ids[:min(int(listed), room)] {
			found = append(found, Member{PID: int(pid)})
		}
		return found, err == nil
	}
}

const stillActive = 259

// Alive reports whether there is a process of that number that has not exited.
func (m Member) Alive() bool {
	process, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(m.PID))
	if err != nil {
		return false
	}
	defer windows.CloseHandle(process) //nolint:errcheck // nothing can be done
	var code uint32
	return windows.GetExitCodeProcess(process, &code) == nil && code == stillActive
}

// CanAsk tells whether Terminate does anything.
const CanAsk = false

// Terminate does nothing: no process can be asked to end here.
func (Member) Terminate() {}

// Kill does nothing: members are killed with their job.
func (Member) Kill() {}

// Usage is not known here.
func (Member) Usage() (cpu time.Duration, memory uint64) { return 0, 0 }

package tree

import (
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// jobs holds each tree in a job object. When the last handle to one is closed,
// as by the end of this program, its members are killed: nothing is left behind.
type jobs struct{}

func openJobs(Config) (method, []string, error) { return jobs{}, nil, nil }

func (jobs) sift(trees []*Tree) []*Tree    { return siftEach(trees) }
func (jobs) killAll(trees []*Tree) []*Tree { return killEach(trees) }
func (jobs) subreaper() bool               { return false }
func (jobs) close() error                  { return nil }

func (jobs) place() (place, error) {
	handle, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return nil, os.NewSyscallError("CreateJobObject", err)
	}
	limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{}
	limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(handle, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	if err != nil {
		_ = windows.CloseHandle(handle)
		return nil, os.NewSyscallError("SetInformationJobObject", err)
	}
	return &job{handle: handle}, nil
}

// job is the job object of a tree. The process is started suspended, so that it
// can't start others before it is a member.
type job struct {
	mu     sync.Mutex
	handle windows.Handle // guarded by mu; 0 once released
}

func (*job) enter(attr *syscall.SysProcAttr) error {
	attr.CreationFlags |= windows.CREATE_SUSPENDED
	return nil
}

func (*job) leave()            {}
func (*job) reaping()          {}
func (*job) broken(error) bool { return false }
func (*job) fragile() bool     { return false }

func (j *job) started(pid int) error {
	const access = windows.PROCESS_SET_QUOTA | windows.PROCESS_TERMINATE
	process, err := windows.OpenProcess(access, false, uint32(pid))
	if err != nil {
		return os.NewSyscallError("OpenProcess", err)
	}
	defer windows.CloseHandle(process) //nolint:errcheck // nothing can be done
	err = windows.AssignProcessToJobObject(j.handle, process)
	if err != nil {
		err = os.NewSyscallError("AssignProcessToJobObject", err)
	} else {
		err = resume(uint32(pid))
	}
	if err != nil {
		_ = windows.TerminateProcess(process, 1)
	}
	return err
}

// resume lets the threads of a process run.
func resume(pid uint32) error {
	snapshot, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPTHREAD, 0)
	if err != nil {
		return os.NewSyscallError("CreateToolhelp32Snapshot", err)
	}
	defer windows.CloseHandle(snapshot) //nolint:errcheck // nothing can be done
	entry := windows.ThreadEntry32{Size: uint32(unsafe.Sizeof(windows.ThreadEntry32{}))}
	resumed := 0
	for err = windows.Thread32First(snapshot, &entry); err == nil; err = windows.Thread32Next(snapshot, &entry) {
		if entry.OwnerProcessID != pid {
			continue
		}
		thread, err := windows.OpenThread(windows.THREAD_SUSPEND_RESUME, false, entry.ThreadID)
		if err != nil {
			return os.NewSyscallError("OpenThread", err)
		}
		_, err = windows.ResumeThread(thread)
		_ = windows.CloseHandle(thread)
		if err != nil {
			return os.NewSyscallError("ResumeThread", err)
		}
		resumed++
	}
	if resumed == 0 {
		return fmt.Errorf("process %d has no thread to resume", pid)
	}
	return nil
}

func (j *job) kill() bool {
	const code = 1 // what the members exit with
	deadline := time.Now().Add(killTime)
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		j.mu.Lock()
		if j.handle != 0 {
			_ = windows.TerminateJobObject(j.handle, code)
		}
		j.mu.Unlock()
		if j.empty() {
			return true
		}
		if !time.Now().Before(deadline) {
			return false
		}
		<-time.After(pause)
	}
}

func (j *job) empty() bool {
	// JOBOBJECT_BASIC_ACCOUNTING_INFORMATION
	var info struct {
		TotalUserTime, TotalKernelTime, ThisPeriodTotalUserTime, ThisPeriodTotalKernelTime int64

		TotalPageFaultCount, TotalProcesses, ActiveProcesses, TotalTerminatedProcesses uint32
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.handle == 0 {
		return true
	}
	err := windows.QueryInformationJobObject(j.handle, windows.JobObjectBasicAccountingInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)), nil)
	return err == nil && info.ActiveProcesses == 0
}

func (j *job) release() {
	j.mu.Lock()
	defer j.mu.Unlock()
	_ = windows.CloseHandle(j.handle)
	j.handle = 0
}

package escape

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// marker is what a process outside has in its environment and its arguments.
const marker = "airlock-escape-secret"

// gone is how one outside is found not to be there.
var gone = map[policy]string{"": "ESRCH", landlocked: "EPERM"}

var inherited = []attempt{
	{"inherited descriptors", func(*scene) error {
		var open []string
		for fd := 3; fd < 1024; fd++ {
			if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil {
				continue
			}
			what, _ := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
			// The runtime of this very program has some, which it has made.
			if !strings.HasPrefix(what, "anon_inode:[event") {
				open = append(open, what)
			}
		}
		if len(open) == 0 {
			return got("none")
		}
		return got(strings.Join(open, ","))
	}, always("none")},
	{"capabilities", func(*scene) error {
		status, err := os.ReadFile("/proc/self/status")
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(status)) {
			name, value, _ := strings.Cut(line, ":")
			value = strings.TrimSpace(value)
			switch name {
			case "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb":
				if strings.Trim(value, "0") != "" && name != "CapBnd" {
					return got(name + value)
				}
			case "NoNewPrivs":
				if value != "1" {
					return got("new privileges")
				}
			case "Seccomp":
				if value != "2" {
					return got("no filter")
				}
			}
		}
		return got("none")
	}, always("none")},
}

var processes = []attempt{
	{"signal a process outside", func(s *scene) error { return unix.Kill(s.Victim, unix.SIGKILL) }, gone},
	{"signal a thread outside", func(s *scene) error { return unix.Tgkill(s.Victim, s.Victim, unix.SIGKILL) }, gone},
	{"stop a process outside", func(s *scene) error { return unix.Kill(s.Victim, unix.SIGSTOP) }, gone},
	{"signal its group", func(s *scene) error { return unix.Kill(-s.Victim, unix.SIGKILL) }, gone},
	{"open a process outside", func(s *scene) error {
		fd, err := unix.PidfdOpen(s.Victim, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
	}, gone},
	{"the environments of others", func(s *scene) error { return search("environ") }, always("none")},
	{
		"the arguments of others", func(s *scene) error { return search("cmdline") },
		map[policy]string{"": "none", landlocked: ""},
	},
	{"the memory of a process outside", func(s *scene) error {
		return open("/proc/"+strconv.Itoa(s.Victim)+"/mem", unix.O_RDWR)
	}, map[policy]string{"": "ENOENT", landlocked: "EACCES"}},
	{"the memory of the first process", func(*scene) error { return open("/proc/1/mem", unix.O_RDWR) }, always("EACCES")},
	{"the memory of the parent", func(*scene) error {
		return open("/proc/"+strconv.Itoa(os.Getppid())+"/mem", unix.O_RDWR)
	}, always("EACCES")},
	{"the files of the parent", func(*scene) error {
		_, err := unix.Readlink("/proc/"+strconv.Itoa(os.Getppid())+"/fd/3", make([]byte, 100))
		return err
	}, always("EACCES")},
	{"trace the parent", func(*scene) error {
		return raw(unix.SYS_PTRACE, unix.PTRACE_ATTACH, uintptr(os.Getppid()))
	}, always("EPERM")},
	{"seize a process outside", func(s *scene) error {
		return raw(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(s.Victim))
	}, map[policy]string{"": "EPERM", networkOpen: "ESRCH", landlockOpen: "EPERM"}},
	{"read the memory of the parent", func(*scene) error {
		var b [8]byte
		local := []unix.Iovec{{Base: &b[0], Len: 8}}
		_, err := unix.ProcessVMReadv(os.Getppid(), local, []unix.RemoteIovec{{Base: 0x400000, Len: 8}}, 0)
		return err
	}, always("EPERM")},
	{"write the memory of the parent", func(*scene) error {
		var b [8]byte
		local := []unix.Iovec{{Base: &b[0], Len: 8}}
		_, err := unix.ProcessVMWritev(os.Getppid(), local, []unix.RemoteIovec{{Base: 0x400000, Len: 8}}, 0)
		return err
	}, always("EPERM")},
	{"take a file of the parent", func(*scene) error {
		fd, err := unix.PidfdOpen(os.Getppid(), 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		_, err = unix.PidfdGetfd(fd, 3, 0)
		return err
	}, always("EPERM")},
	{"the namespaces of the parent", func(*scene) error {
		return open("/proc/"+strconv.Itoa(os.Getppid())+"/ns/mnt", unix.O_RDONLY)
	}, always("EACCES")},
	{"make the parent's limits less", func(*scene) error {
		none := unix.Rlimit{}
		return raw(unix.SYS_PRLIMIT64, uintptr(os.Getppid()), unix.RLIMIT_NOFILE, uintptr(unsafe.Pointer(&none)))
	}, always("EPERM")},
	{"kill the first process", func(s *scene) error {
		// In a process namespace of its own it can't be killed from inside.
		_ = unix.Kill(1, unix.SIGKILL)
		return got("still here")
	}, map[policy]string{"": "still here", landlocked: ""}},
}

// roles are what this program is when it is executed by an attempt.
var roles = map[string]func(*scene){
	"user":  func(*scene) { fmt.Print(os.Geteuid()) },
	"child": func(*scene) { _, _ = os.Stdin.Read(make([]byte, 1)) },
	"bomb":  bomb,
}

// search tells whether what is told of any process has the marker.
func search(file string) error {
	dir, err := os.ReadDir("/proc")
	if err != nil {
		return err
	}
	var found []string
	for _, entry := range dir {
		if _, err := strconv.Atoi(entry.Name()); err != nil {
			continue
		}
		text, err := os.ReadFile("/proc/" + entry.Name() + "/" + file)
		if err == nil && bytes.Contains(text, []byte(marker)) {
			found = append(found, entry.Name())
		}
	}
	if len(found) == 0 {
		return got("none")
	}
	return got(strings.Join(found, ","))
}

// bomb starts children until no more can be. It says how many there are.
func bomb(*scene) {
	n := 0
	for ; n < 1000; n++ {
		cmd := exec.Command("/proc/self/exe", "child")
		cmd.Env = os.Environ()
		if _, err := cmd.StdinPipe(); err != nil {
			break
		}
		if err := cmd.Start(); err != nil {
			break
		}
	}
	fmt.Println("children", n)
}

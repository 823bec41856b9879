package escape

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Of files outside, which everybody may write as far as the host is concerned.
var (
	// outside is how a change to one fails.
	outside = map[policy]string{"": "EROFS", restrictedRead: "ENOENT", landlocked: "EACCES"}
	// protected is how one to a protected name of the workspace does.
	protected = map[policy]string{"": "EROFS", landlocked: "EACCES"}
)

var writes = []attempt{
	{"write outside", func(s *scene) error { return open(s.at("outside/target"), unix.O_WRONLY) }, outside},
	{"truncate outside", func(s *scene) error { return unix.Truncate(s.at("outside/target"), 0) }, outside},
	{"make a file outside", func(s *scene) error { return open(s.at("outside/new"), unix.O_WRONLY|unix.O_CREAT) }, outside},
	{"make a directory outside", func(s *scene) error { return unix.Mkdir(s.at("outside/dir"), 0o755) }, outside},
	{"remove outside", func(s *scene) error { return unix.Unlink(s.at("outside/target")) }, outside},
	{"write by ..", func(s *scene) error { return open(s.at("ws/../outside/target"), unix.O_WRONLY) }, outside},
	{"write by a link", func(s *scene) error { return open(s.at("ws/link"), unix.O_WRONLY) }, outside},
	{"write by /proc/self/root", func(s *scene) error {
		return open("/proc/self/root"+s.at("outside/target"), unix.O_WRONLY)
	}, outside},
	{"write by /proc/self/cwd", func(s *scene) error { return open("/proc/self/cwd/../outside/target", unix.O_WRONLY) }, outside},
	{"write by a descriptor of the directory", func(s *scene) error {
		dir, err := unix.Open(s.at("outside"), unix.O_PATH|unix.O_DIRECTORY, 0)
		if err != nil {
			return err
		}
		defer unix.Close(dir)
		return open("/proc/self/fd/"+strconv.Itoa(dir)+"/target", unix.O_WRONLY)
	}, outside},
	{"write what is open to be read", func(s *scene) error {
		fd, err := unix.Open(s.at("outside/target"), unix.O_RDONLY, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return open("/proc/self/fd/"+strconv.Itoa(fd), unix.O_WRONLY)
	}, outside},
	{"write by the root of the first process", func(s *scene) error {
		return open("/proc/1/root"+s.at("outside/target"), unix.O_WRONLY)
	}, always("EACCES")},
	{"write by the root of the parent", func(s *scene) error {
		return open("/proc/"+strconv.Itoa(os.Getppid())+"/root"+s.at("outside/target"), unix.O_WRONLY)
	}, always("EACCES")},
	{"write by the root of a process outside", func(s *scene) error {
		return open("/proc/"+strconv.Itoa(s.Victim)+"/root"+s.at("outside/target"), unix.O_WRONLY)
	}, map[policy]string{"": "ENOENT", landlocked: "EACCES"}},
	{
		"change the mode outside", func(s *scene) error { return unix.Chmod(s.at("outside/target"), 0o777) },
		map[policy]string{"": "EROFS", restrictedRead: "ENOENT", landlocked: ""},
	},
	{
		"change times outside", func(s *scene) error { return unix.Utime(s.at("outside/target"), &unix.Utimbuf{}) },
		map[policy]string{"": "EROFS", restrictedRead: "ENOENT", landlocked: ""},
	},
	{"set an attribute outside", func(s *scene) error {
		return unix.Setxattr(s.at("outside/target"), "user.x", []byte("y"), 0)
	}, map[policy]string{"": "EROFS", restrictedRead: "ENOENT", landlocked: ""}},
	{
		"link to outside", func(s *scene) error { return unix.Link(s.at("outside/target"), s.at("ws/hard")) },
		map[policy]string{"": "EXDEV", readOnly: "EROFS", restrictedRead: "ENOENT", landlocked: "EACCES EXDEV"},
	},
	{
		"move out", func(s *scene) error { return unix.Rename(s.at("ws/file"), s.at("outside/file")) },
		map[policy]string{"": "EXDEV", readOnly: "EROFS", restrictedRead: "ENOENT", landlocked: "EACCES EXDEV"},
	},
	{
		"move in", func(s *scene) error { return unix.Rename(s.at("outside/target"), s.at("ws/moved")) },
		map[policy]string{"": "EXDEV", readOnly: "EROFS", restrictedRead: "ENOENT", landlocked: "EACCES EXDEV"},
	},
	{"write at the root", func(*scene) error { return open("/new", unix.O_WRONLY|unix.O_CREAT) }, protected},
	{
		"write to /etc", func(*scene) error { return open("/etc/airlock-escape", unix.O_WRONLY|unix.O_CREAT) },
		map[policy]string{"": "EROFS EACCES"},
	},
	{"write to a protected name", func(s *scene) error { return open(s.at("ws/.git/config"), unix.O_WRONLY) }, protected},
	{"make a file in a protected name", func(s *scene) error {
		return open(s.at("ws/.git/hooks"), unix.O_WRONLY|unix.O_CREAT)
	}, protected},
	{
		"make a protected name", func(s *scene) error { return unix.Mkdir(s.at("ws/.codex"), 0o755) },
		map[policy]string{"": "EEXIST", readOnly: "EROFS", landlocked: "EACCES"},
	},
	{
		"move a protected name", func(s *scene) error { return unix.Rename(s.at("ws/.git"), s.at("ws/moved")) },
		map[policy]string{"": "EBUSY", readOnly: "EROFS", landlocked: "EACCES"},
	},
	{
		"move onto a protected name", func(s *scene) error { return unix.Rename(s.at("ws/dir"), s.at("ws/.aws")) },
		map[policy]string{"": "EBUSY", readOnly: "EROFS", landlocked: "EACCES"},
	},
	{
		"remove a protected name", func(s *scene) error { return unix.Rmdir(s.at("ws/.agents")) },
		map[policy]string{"": "EBUSY", readOnly: "EROFS", landlocked: "EACCES"},
	},
	{
		"move the workspace", func(s *scene) error { return unix.Rename(s.at("ws"), s.at("moved")) },
		map[policy]string{"": "EBUSY EROFS", restrictedRead: "EBUSY EROFS", landlocked: "EACCES"},
	},
	{"swap a link", swapLink, map[policy]string{
		"": "", workspaceWrite: "never", networkOpen: "never", restrictedRead: "never", managed: "never", landlockOpen: "",
	}},
	{"run a setuid program", runSetuid, always("same user")},
	{"write to the kernel's settings", func(*scene) error {
		return all(
			open("/proc/sys/kernel/core_pattern", unix.O_WRONLY),
			open("/proc/sys/vm/overcommit_memory", unix.O_WRONLY))
	}, always("EROFS EACCES")},
	{
		"press a key of the system", func(*scene) error { return open("/proc/sysrq-trigger", unix.O_WRONLY) },
		always("EROFS EACCES ENOENT"),
	},
	{
		"write to /sys", func(*scene) error { return open("/sys/kernel/profiling", unix.O_WRONLY) },
		map[policy]string{"": "EROFS EACCES", restrictedRead: "ENOENT"},
	},
}

// swapLink writes to a name that is a directory at one moment, and a link that
// leads outside at the next. It tells whether a file could be opened there that is
// not the workspace's.
func swapLink(s *scene) error {
	dir, link, place := s.at("ws/swap-dir"), s.at("ws/swap-link"), s.at("ws/swap")
	_ = os.MkdirAll(dir, 0o755)
	_ = os.WriteFile(dir+"/target", nil, 0o600)
	_ = os.Symlink(s.at("outside"), link)
	var stop atomic.Bool
	done := make(chan bool)
	go func() {
		for !stop.Load() {
			_ = unix.Rename(dir, place)
			_ = unix.Rename(place, dir)
			_ = unix.Rename(link, place)
			_ = unix.Rename(place, link)
			runtime.Gosched()
		}
		close(done)
	}()
	escaped := false
	for range 3000 {
		fd, err := unix.Open(place+"/target", unix.O_WRONLY, 0)
		if err != nil {
			continue
		}
		where, _ := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
		escaped = escaped || strings.Contains(where, "/outside/")
		unix.Close(fd)
	}
	stop.Store(true)
	<-done
	if escaped {
		return nil
	}
	return got("never")
}

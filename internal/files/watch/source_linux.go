package watch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// chains says that it costs little to watch all directories above a path.
const chains = true

// key is a watch descriptor: it stands for a directory, whatever it is called.
type key = int32

// source is an inotify instance. It is used directly: package fsnotify knows
// directories by a path each, so that two that lead to the same directory get mixed
// up, follows symbolic links, and does not tell when a directory is unmounted.
type source struct {
	inotify int
	wake    int // an eventfd
	mounts  int // changes of it are those of mounted file systems; -1 without
}

const (
	maskEntries = unix.IN_CREATE | unix.IN_DELETE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO |
		unix.IN_MOVE_SELF
	maskEverything = maskEntries | unix.IN_MODIFY | unix.IN_ATTRIB
	// maskHow: several posts at a directory add up, and files that have been
	// removed are told of no more.
	maskHow = unix.IN_ONLYDIR | unix.IN_MASK_ADD | unix.IN_EXCL_UNLINK
)

func openSource() (*source, error) {
	inotify, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, errSystem("inotify instances", "fs.inotify.max_user_instances, or the bound on open files", err)
	}
	wake, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		unix.Close(inotify)
		return nil, fmt.Errorf("make an eventfd: %w", err)
	}
	mounts, err := unix.Open(mountinfo, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		mounts = -1
	}
	return &source{inotify: inotify, wake: wake, mounts: mounts}, nil
}

// stop has read return.
func (s *source) stop() {
	one := binary.NativeEndian.AppendUint64(nil, 1)
	_, _ = unix.Write(s.wake, one)
}

// release closes what openSource has opened.
func (s *source) release() {
	for _, fd := range []int{s.inotify, s.wake, s.mounts} {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
}

// read hands events on until stop.
func (s *source) read(h *hub) {
	fds := []unix.PollFd{
		{Fd: int32(s.inotify), Events: unix.POLLIN},
		{Fd: int32(s.wake), Events: unix.POLLIN},
		{Fd: int32(s.mounts), Events: unix.POLLPRI},
	}
	buffer := make([]byte, 64<<10)
	for {
		if _, err := unix.Poll(fds, -1); err != nil {
			continue // interrupted
		}
		if fds[1].Revents != 0 {
			return
		}
		if fds[2].Revents != 0 {
			h.tellAll(mounted)
		}
		if n, err := unix.Read(s.inotify, buffer); err == nil {
			dispatch(h, buffer[:n])
		}
	}
}

// dispatch hands on the events in what has been read.
func dispatch(h *hub, data []byte) {
	for len(data) >= unix.SizeofInotifyEvent {
		wd := int32(binary.NativeEndian.Uint32(data))
		mask := binary.NativeEndian.Uint32(data[4:])
		end := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(data[12:]))
		name, _, _ := bytes.Cut(data[unix.SizeofInotifyEvent:end], []byte{0})
		data = data[end:]
		e := event{name: string(name), dir: mask&unix.IN_ISDIR != 0}
		switch {
		case mask&unix.IN_Q_OVERFLOW != 0:
			h.tellAll(lost)
			continue
		case mask&unix.IN_IGNORED != 0:
			h.end(wd)
			continue
		case mask&(unix.IN_CREATE|unix.IN_MOVED_TO) != 0:
			e.op = created
		case mask&(unix.IN_DELETE|unix.IN_MOVED_FROM) != 0:
			e.op = removed
		case mask&unix.IN_MOVE_SELF != 0:
			e.op = moved
		case mask&(unix.IN_MODIFY|unix.IN_ATTRIB) != 0:
			e.op = modified
		default:
			continue // unmounted: IN_IGNORED follows
		}
		h.tell(wd, e)
	}
}

// add begins to watch a directory for a post. It is registered before the first
// event can be handed on.
func (s *source) add(h *hub, dir *os.File, p *post) error {
	mask := uint32(maskHow | maskEverything)
	if p.what == entries {
		mask = maskHow | maskEntries
	}
	conn, err := dir.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = conn.Control(func(fd uintptr) {
		h.mu.Lock()
		defer h.mu.Unlock()
		wd, err := s.addWatch(int(fd), dir.Name(), mask)
		if err != nil {
			failed = err
			return
		}
		h.register(int32(wd), p)
	})
	if errors.Is(failed, unix.ENOSPC) {
		return errSystem("inotify watches", "fs.inotify.max_user_watches", failed)
	}
	return errors.Join(err, failed)
}

// addWatch names the directory by its descriptor: nothing has to be looked up on
// disk while the lock of the hub is held, and nobody can put another one there.
func (s *source) addWatch(fd int, path string, mask uint32) (int, error) {
	wd, err := unix.InotifyAddWatch(s.inotify, fmt.Sprintf("/proc/self/fd/%d", fd), mask)
	if errors.Is(err, unix.ENOENT) { // there is no /proc
		wd, err = unix.InotifyAddWatch(s.inotify, path, mask|unix.IN_DONT_FOLLOW)
	}
	return wd, err
}

// remove ends watching a directory.
func (s *source) remove(k key) {
	_, _ = unix.InotifyRmWatch(s.inotify, uint32(k)) // fails if it has been removed
}

const mountinfo = "/proc/self/mountinfo"

// mountsBelow describes the file systems that are mounted below a directory.
func mountsBelow(dir string) string {
	data, err := os.ReadFile(mountinfo)
	if err != nil {
		return ""
	}
	prefix := strings.NewReplacer(" ", `\040`, "\t", `\011`, "\n", `\012`, `\`, `\134`).
		Replace(strings.TrimSuffix(dir, "/")) + "/"
	var below strings.Builder
	for line := range strings.Lines(string(data)) {
		// id, parent, device, root, mount point, …
		if fields := strings.Fields(line); len(fields) > 4 && strings.HasPrefix(fields[4], prefix) {
			below.WriteString(strings.Join(fields[:5], " ") + "\n")
		}
	}
	return below.String()
}

//go:build unix

package spawn

import (
	"errors"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// stdio is both sides of the standard streams of a child that is being made.
// Every descriptor is close-on-exec. Ours are non-blocking; the child's are
// blocking, as programs expect, and have file descriptions of their own.
type stdio struct {
	child   []int // the child's side: 0, 1, 2, which may be the same
	input   *os.File
	streams []*stream
}

func openStdio(cmd *Command) (*stdio, error) {
	io := &stdio{}
	var err error
	if cmd.TTY != nil {
		err = io.openTerminal(*cmd.TTY)
	} else {
		err = io.openPipes(cmd)
	}
	if err != nil {
		io.closeChild()
		io.closeOurs()
		return nil, streamsError(err)
	}
	return io, nil
}

func (io *stdio) openPipes(cmd *Command) error {
	if cmd.Socket != nil {
		fd, err := share(cmd.Socket)
		if err != nil {
			return err
		}
		io.child = append(io.child, fd)
	} else if cmd.Stdin {
		r, w, err := pipe()
		if err != nil {
			return err
		}
		io.child = append(io.child, r)
		if io.input, err = pollable(w, "stdin"); err != nil {
			return err
		}
	} else {
		null, err := syscall.Open(os.DevNull, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		io.child = append(io.child, null)
	}
	for _, name := range []Stream{Stdout, Stderr} {
		r, w, err := pipe()
		if err != nil {
			return err
		}
		io.child = append(io.child, w)
		if err := io.addStream(name, r); err != nil {
			return err
		}
	}
	return nil
}

// share returns another descriptor of what a file has open.
func share(file *os.File) (fd int, err error) {
	conn, err := file.SyscallConn()
	if err != nil {
		return -1, err
	}
	controlErr := conn.Control(func(own uintptr) {
		fd, err = unix.FcntlInt(own, unix.F_DUPFD_CLOEXEC, 0)
	})
	return fd, errors.Join(err, controlErr)
}

func (io *stdio) openTerminal(size Size) error {
	master, slave, err := openPTY(size)
	if err != nil {
		return err
	}
	io.child = append(io.child, slave)
	if err := io.addStream(Terminal, master); err != nil {
		return err
	}
	io.input = io.streams[0].file
	return nil
}

// addStream takes over fd.
func (io *stdio) addStream(name Stream, fd int) error {
	file, err := pollable(fd, "output")
	if err != nil {
		return err
	}
	s, err := newStream(name, file)
	if err != nil {
		file.Close()
		return err
	}
	io.streams = append(io.streams, s)
	return nil
}

// pollable takes over fd and has the runtime's poller watch it, so that waiting
// for it takes no thread.
func pollable(fd int, name string) (*os.File, error) {
	if err := syscall.SetNonblock(fd, true); err != nil {
		syscall.Close(fd)
		return nil, err
	}
	file := os.NewFile(uintptr(fd), name)
	if err := file.SetDeadline(time.Time{}); err != nil {
		file.Close()
		return nil, errors.New("the system cannot watch more descriptors")
	}
	return file, nil
}

// files returns the child's standard streams as they go to exec.
func (io *stdio) files() []uintptr {
	last := len(io.child) - 1
	files := make([]uintptr, 3)
	for i := range files {
		files[i] = uintptr(io.child[min(i, last)])
	}
	return files
}

func (io *stdio) closeChild() {
	for _, fd := range io.child {
		syscall.Close(fd)
	}
}

func (io *stdio) closeOurs() {
	for _, s := range io.streams {
		s.close()
	}
	if io.input != nil {
		io.input.Close()
	}
}

package outlog

import (
	"errors"
	"io"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// openTemp makes a file that never has a name, and can't be given one.
func openTemp(dir string) (file, error) {
	f, err := os.OpenFile(dir, os.O_RDWR|unix.O_TMPFILE|os.O_EXCL, 0o600)
	switch {
	case err == nil:
		return &tempFile{File: f}, nil
	case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.EISDIR), errors.Is(err, unix.EINVAL):
		return openRemoved(dir) // the file system or the kernel can't do that
	default:
		return nil, err
	}
}

// writeParts implements file, mostly with one system call.
func (f *tempFile) writeParts(parts [][]byte, at int64) error {
	end := at
	for _, part := range parts {
		end += int64(len(part))
	}
	f.space.ask(f.File, end)
	defer runtime.KeepAlive(f.File)
	parts = append(make([][]byte, 0, 4), parts...) // they stay the caller's
	for len(parts) > 0 {
		n, err := unix.Pwritev(int(f.Fd()), parts, at)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return os.NewSyscallError("pwritev", err)
		case n == 0:
			return io.ErrShortWrite
		}
		// A call that writes less than all hides why; the next one tells.
		at += int64(n)
		for len(parts) > 0 && n >= len(parts[0]) {
			n -= len(parts[0])
			parts = parts[1:]
		}
		if n > 0 {
			parts[0] = parts[0][n:]
		}
	}
	return nil
}

// space is the room on the disk that a file has been given. To ask for much at a
// time makes writing to a file that grows twice as fast.
type space struct {
	given   int64
	refused bool
}

// ask sees to it that there is room up to an offset, and some more: a quarter of
// the file, 1 to 8 MiB. It does not matter whether that works.
func (s *space) ask(f *os.File, end int64) {
	if end <= s.given || s.refused {
		return
	}
	more := max(end-s.given, min(max(s.given/4, 1<<20), 8<<20))
	if err := unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, s.given, more); err != nil {
		s.refused = true // the write will tell whether the disk is full
		return
	}
	s.given += more
}

// Truncate implements file. It gives back the room behind the end, too.
func (f *tempFile) Truncate(size int64) error {
	f.space = space{given: size}
	return f.File.Truncate(size)
}

package files

import (
	"errors"

	"golang.org/x/sys/unix"
)

const passDirectory = unix.O_PATH | unix.O_DIRECTORY

// status returns what has the name, or what a symbolic link leads to if follow is
// set.
func (d *dir) status(name string, follow bool) (status, error) {
	flags := unix.AT_SYMLINK_NOFOLLOW
	if follow {
		flags = 0
	}
	var x unix.Statx_t
	switch err := unix.Statx(d.fd(), name, flags, unix.STATX_BASIC_STATS|unix.STATX_BTIME, &x); {
	case err == nil:
	case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EPERM): // an old kernel, or a filter for one
		return d.oldStatus(name, flags)
	default:
		return status{}, err
	}
	st := status{
		mode:     fileMode(uint32(x.Mode)),
		size:     x.Size,
		modified: milliseconds(x.Mtime.Sec, int64(x.Mtime.Nsec)),
	}
	if x.Mask&unix.STATX_BTIME != 0 {
		st.born = milliseconds(x.Btime.Sec, int64(x.Btime.Nsec))
	}
	return st, nil
}

func (d *dir) oldStatus(name string, flags int) (status, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(d.fd(), name, &st, flags); err != nil {
		return status{}, err
	}
	return status{
		mode:     fileMode(st.Mode),
		size:     uint64(max(st.Size, 0)),
		modified: milliseconds(st.Mtim.Unix()),
	}, nil
}

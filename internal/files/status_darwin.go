package files

import "golang.org/x/sys/unix"

const passDirectory = openDirectory

// status returns what has the name, or what a symbolic link leads to if follow is
// set.
func (d *dir) status(name string, follow bool) (status, error) {
	flags := unix.AT_SYMLINK_NOFOLLOW
	if follow {
		flags = 0
	}
	var st unix.Stat_t
	if err := unix.Fstatat(d.fd(), name, &st, flags); err != nil {
		return status{}, err
	}
	return status{
		mode:     fileMode(uint32(st.Mode)),
		size:     uint64(max(st.Size, 0)),
		born:     milliseconds(st.Btim.Unix()),
		modified: milliseconds(st.Mtim.Unix()),
	}, nil
}

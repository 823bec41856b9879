package files

import "golang.org/x/sys/unix"

// chmod sets the permissions; a symbolic link is refused unless follow is set.
func (d *dir) chmod(name string, mode uint32, follow bool) error {
	if follow {
		return unix.Fchmodat(d.fd(), name, mode, 0)
	}
	switch st, err := d.status(name, false); {
	case err != nil:
		return err
	case st.isLink():
		return errLink
	}
	return unix.Fchmodat(d.fd(), name, mode, unix.AT_SYMLINK_NOFOLLOW)
}

package helper

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/airlock-exec/airlock/internal/helper/plan"
)

// rulesetBytes is the part of struct landlock_ruleset_attr that a plan fills. A
// kernel that knows less takes it as long as what it does not know is 0.
const rulesetBytes = 24

// rightsToFiles are the rights that there are to what is no directory. The kernel
// refuses a rule for a file with others.
const rightsToFiles = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
	unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV

// applyLandlock confines this thread, and what it executes, by Landlock. The
// thread must have no_new_privs. An error wraps the errno and names what of the
// rules it was. A file of a rule that is gone is one: whatever was to be there,
// nobody knows what would be.
func applyLandlock(l *plan.Landlock) error {
	attributes := unix.LandlockRulesetAttr{
		Handled_access_fs: l.HandledFiles, Handled_access_net: l.HandledNetwork, Scoped: l.Scoped,
	}
	fd, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET,
		uintptr(unsafe.Pointer(&attributes)), rulesetBytes, 0)
	if errno != 0 {
		return os.NewSyscallError("landlock_create_ruleset", errno)
	}
	ruleset := int(fd)
	defer unix.Close(ruleset)
	for _, rule := range l.Rules {
		if err := addRule(ruleset, rule); err != nil {
			return &os.PathError{Op: "landlock_add_rule", Path: rule.Path, Err: err}
		}
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
		return os.NewSyscallError("landlock_restrict_self", errno)
	}
	return nil
}

func addRule(ruleset int, rule plan.LandlockRule) error {
	place, err := unix.Open(rule.Path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(place)
	var s unix.Stat_t
	if err := unix.Fstat(place, &s); err != nil {
		return err
	}
	beneath := unix.LandlockPathBeneathAttr{Allowed_access: rule.Rights, Parent_fd: int32(place)}
	if s.Mode&unix.S_IFMT != unix.S_IFDIR {
		beneath.Allowed_access &= rightsToFiles
	}
	if beneath.Allowed_access == 0 {
		return nil // nothing is granted
	}
	_, _, errno := unix.RawSyscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset),
		unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&beneath)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

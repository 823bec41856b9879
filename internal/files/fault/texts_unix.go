//go:build unix

package fault

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// texts are those of Linux's C library musl; others would name the same errors
// differently.
var texts = map[syscall.Errno]string{
	unix.EPERM:        "Operation not permitted",
	unix.ENOENT:       "No such file or directory",
	unix.EINTR:        "Interrupted system call",
	unix.EIO:          "I/O error",
	unix.ENXIO:        "No such device or address",
	unix.EBADF:        "Bad file descriptor",
	unix.EAGAIN:       "Resource temporarily unavailable",
	unix.ENOMEM:       "Out of memory",
	unix.EACCES:       "Permission denied",
	unix.EBUSY:        "Resource busy",
	unix.EEXIST:       "File exists",
	unix.EXDEV:        "Cross-device link",
	unix.ENODEV:       "No such device",
	unix.ENOTDIR:      "Not a directory",
	unix.EISDIR:       "Is a directory",
	unix.EINVAL:       "Invalid argument",
	unix.ENFILE:       "Too many open files in system",
	unix.EMFILE:       "No file descriptors available",
	unix.ETXTBSY:      "Text file busy",
	unix.EFBIG:        "File too large",
	unix.ENOSPC:       "No space left on device",
	unix.ESPIPE:       "Invalid seek",
	unix.EROFS:        "Read-only file system",
	unix.EMLINK:       "Too many links",
	unix.ENAMETOOLONG: "Filename too long",
	unix.ENOSYS:       "Function not implemented",
	unix.ENOTEMPTY:    "Directory not empty",
	unix.ELOOP:        "Symbolic link loop",
	unix.ENOTSUP:      "Not supported",
	unix.ETIMEDOUT:    "Operation timed out",
	unix.EDQUOT:       "Quota exceeded",
}

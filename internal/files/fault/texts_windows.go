package fault

import "syscall"

// texts: those of the system are taken.
var texts map[syscall.Errno]string

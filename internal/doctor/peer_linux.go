package doctor

import (
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// checkPeer asks who has connected, which is this program.
func checkPeer(conn *net.UnixConn) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var cred *unix.Ucred
	var credErr error
	if err := raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return err
	}
	if credErr != nil {
		return os.NewSyscallError("asking who has connected", credErr)
	}
	if int(cred.Uid) != os.Geteuid() {
		return fmt.Errorf("the system says that user %d has connected, who is user %d", cred.Uid, os.Geteuid())
	}
	return nil
}

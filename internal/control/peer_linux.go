package control

import "golang.org/x/sys/unix"

// peerUID returns the user of the process that has connected, or that listens.
func peerUID(fd int) (int, error) {
	peer, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return -1, err
	}
	return int(peer.Uid), nil
}

// knowsPeers: sockets tell who is on the other end.
const knowsPeers = true

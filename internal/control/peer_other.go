//go:build unix && !linux && !darwin

package control

import "errors"

func peerUID(int) (int, error) { return -1, errors.ErrUnsupported }

// knowsPeers is false: nothing here can tell who is on the other end.
const knowsPeers = false

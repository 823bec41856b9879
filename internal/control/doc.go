// Package control is the Unix socket by which whoever runs an executor looks
// into it: where it is, who may use it, and who may not.
//
// The socket stands in a folder that belongs to the user and is closed to
// everybody else; both ends ask the kernel who is on the other one, and talk to
// their own user only. That holds for root, too. It is never put in the place of
// one that somebody listens at, and is gone when its executor is; what one that
// was killed has left behind is removed by the next executor, and by [Find].
//
// Messages are lines, as on standard input and output. When an executor ends a
// connection it says why, by a last notification: see [ClosingError].
//
// Systems that do not tell who is on the other end have no control socket:
// everything fails with [errors.ErrUnsupported] there.
package control

import "time"

// Bounds of a control socket.
const (
	// Connections bounds the connections to a control socket; one more is told
	// so and closed. Its users are people, and a few programs of theirs.
	Connections = 64
	// lockTimeout bounds how long a folder may be in use by another executor
	// that makes or removes a socket there, which takes no time.
	lockTimeout = 2 * time.Second
	// goodbyeTimeout bounds how long the end of a connection waits for the peer
	// to take the reason.
	goodbyeTimeout = 100 * time.Millisecond
	// probeTimeout bounds how long it is tried to connect to a socket that may
	// have been left behind.
	probeTimeout = time.Second
	// names is how many executors of one process id there may be: containers
	// that share a folder, or several in one program.
	names = 64
)

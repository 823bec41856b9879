// Package control is the Unix socket by which whoever runs an executor looks
// into it: where it is, who may use it, and who may not.
//
// The socket stands in a folder that belongs to the user and is closed to
// everybody else; both ends ask the kernel who is on the other one, and talk to
// their own user only. That holds for root, too. It is never put in the place of
// one that somebody listens at, and is gone when its executor is; what one that
// was killed has left behind the warden removes, or else the next executor and [Find].
//
// Messages are lines, as on standard input and output. When an executor ends a
// connection it says why, by a last notification: see [ClosingError].
//
// Systems that do not tell who is on the other end have no control socket:
// everything fails with [errors.ErrUnsupported] there.
package control

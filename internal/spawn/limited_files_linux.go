package spawn

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/airlock-exec/airlock/internal/helper"
	"github.com/airlock-exec/airlock/internal/helper/plan"
)

// planFile returns a file that holds a plan.
func planFile(p *plan.Plan) (int, error) {
	fd, err := unix.MemfdCreate("airlock-plan", unix.MFD_CLOEXEC|unix.MFD_NOEXEC_SEAL)
	if err == unix.EINVAL { // before Linux 6.3
		fd, err = unix.MemfdCreate("airlock-plan", unix.MFD_CLOEXEC)
	}
	if err != nil {
		return -1, err
	}
	for b := p.Append(nil); len(b) > 0; {
		n, err := unix.Write(fd, b)
		if err != nil && err != unix.EINTR {
			unix.Close(fd)
			return -1, err
		}
		b = b[max(n, 0):]
	}
	return helper.Raise(fd)
}

// answerPipe returns both ends of the pipe for answers; the second is the
// helper's.
func answerPipe() (answers *os.File, fd int, err error) {
	r, w, err := pipe()
	if err != nil {
		return nil, -1, err
	}
	if answers, err = pollable(r, "answers"); err != nil {
		unix.Close(w)
		return nil, -1, err
	}
	if w, err = helper.Raise(w); err != nil {
		answers.Close()
		return nil, -1, err
	}
	return answers, w, nil
}

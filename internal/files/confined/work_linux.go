package confined

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/airlock-exec/airlock/internal/files"
	"github.com/airlock-exec/airlock/internal/files/fault"
	"github.com/airlock-exec/airlock/protocol"
)

// work does what comes over standard input, until that ends.
func work() int {
	var st unix.Stat_t
	if err := unix.Fstat(0, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return refuse("its standard input has to be a socket")
	}
	// Another descriptor, as the runtime may wait for that one already.
	fd, err := unix.FcntlInt(0, unix.F_DUPFD_CLOEXEC, 3)
	if err == nil {
		err = unix.SetNonblock(fd, true)
	}
	if err == nil {
		err = serve(newSocket(fd))
	}
	if err != nil {
		os.Stderr.WriteString(Name + ": " + err.Error() + "\n")
		return 1
	}
	return 0
}

// serve does what comes over a socket, each operation by itself, and returns when it
// ends. What is under way then is not waited for: nobody waits for it any more, and
// it may be held up for good.
func serve(control *socket) error {
	var budget files.Budget
	f := files.New(&budget, nil)
	for {
		var b [1]byte
		switch _, err := control.Read(b[:]); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		fd, ok := control.take()
		if !ok {
			return errors.New("it has been sent something that is no connection")
		}
		go answer(newSocket(fd), f)
	}
}

// answer carries out the operation that is asked for over a connection.
func answer(s *socket, f *files.Files) {
	defer s.Close()
	k, request, err := s.readFrame(nil)
	if err != nil || k != requestFrame {
		return // it has been given up
	}
	method, params, err := decodeRequest(request)
	if err != nil || s.writeFrame(begunFrame, nil, -1) != nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		// Nothing comes any more but the end, if it is given up.
		var b [1]byte
		_, _ = s.file.Read(b[:])
		cancel()
	}()
	done, err := carryOut(ctx, f, method, params)
	switch {
	case err != nil:
		payload, _ := protocol.Encode(fault.Wire(err))
		_ = s.writeFrame(errorFrame, payload, -1)
	case done.file != nil:
		_ = s.writeFrame(fileFrame, nil, int(done.file.Fd()))
		done.file.Close()
	default:
		_ = s.writeFrame(resultFrame, done.result, -1)
	}
}

func carryOut(ctx context.Context, f *files.Files, method string, params []byte) (outcome, error) {
	do := operations[method]
	if do == nil {
		return outcome{}, fmt.Errorf("nothing is known of %q", method)
	}
	return do(ctx, f, params)
}

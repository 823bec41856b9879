package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/airlock-exec/airlock/client"
	"github.com/airlock-exec/airlock/internal/transport"
	"github.com/airlock-exec/airlock/protocol"
)

// controlFlags say whose control sockets are used.
type controlFlags struct {
	ControlSocket string `placeholder:"PATH" complete:"file" help:"Ask the executor with this control socket. The default is every executor of this user on this machine."`
}

// controlTimeout bounds how long an executor may take to answer.
const controlTimeout = 10 * time.Second

// operated is an executor that we have a connection to the control socket of.
type operated struct {
	socket   string
	control  *client.Control
	about    protocol.ExecutorInfo
	sessions []protocol.SessionInfo
}

// connect connects to the executors. If none is named, those that do not answer
// are only told of on stderr.
func (f *controlFlags) connect(ctx context.Context, stderr io.Writer) ([]*operated, error) {
	if f.ControlSocket != "" {
		o, err := operate(ctx, f.ControlSocket)
		if err != nil {
			return nil, err
		}
		return []*operated{o}, nil
	}
	sockets, err := client.ControlSockets()
	if len(sockets) == 0 && err != nil {
		return nil, err
	}
	if err != nil {
		warn(stderr, err)
	}
	all, faults := operateAll(ctx, sockets)
	switch {
	case len(all) == 0 && faults != nil:
		return nil, errors.Join(faults...)
	case len(all) == 0:
		return nil, errors.New("no executor of this user is running here: " +
			"`airlock serve` starts one; --control-socket names one that has its socket elsewhere")
	}
	for _, err := range faults {
		warn(stderr, err)
	}
	return all, nil
}

func warn(stderr io.Writer, err error) {
	fmt.Fprintf(stderr, "airlock: warning: %s\n", printableLines(err.Error()))
}

// operateAll connects to executors, to all at the same time: some may hang. What it
// returns is in the order of the sockets.
func operateAll(ctx context.Context, sockets []string) (all []*operated, faults []error) {
	type answer struct {
		o   *operated
		err error
	}
	answers := make([]answer, len(sockets))
	var asking sync.WaitGroup
	for i, socket := range sockets {
		asking.Go(func() {
			o, err := operate(ctx, socket)
			answers[i] = answer{o, err}
		})
	}
	asking.Wait()
	for _, a := range answers {
		if a.err != nil {
			faults = append(faults, a.err)
		} else {
			all = append(all, a.o)
		}
	}
	return all, faults
}

// operate connects to the executor with a control socket and asks for its sessions.
func operate(ctx context.Context, socket string) (*operated, error) {
	dialling, cancel := context.WithTimeout(ctx, controlTimeout)
	defer cancel()
	control, err := client.DialControl(dialling, socket)
	if err != nil {
		return nil, plain(socket, err)
	}
	o := &operated{socket: socket, control: control}
	if err := o.refresh(ctx); err != nil {
		_ = control.Close()
		return nil, err
	}
	return o, nil
}

// refresh asks for the sessions again.
func (o *operated) refresh(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, controlTimeout)
	defer cancel()
	list, err := o.control.Sessions(ctx)
	if err != nil {
		return plain(o.socket, fmt.Errorf("asking the executor at %s: %w", o.socket, err))
	}
	o.about, o.sessions = list.Executor, list.Sessions
	return nil
}

// plain says in few words what has often gone wrong with an executor.
func plain(socket string, err error) error {
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("the executor at %s does not answer within %v: it hangs, or is stopped", socket, controlTimeout)
	case errors.Is(err, client.ErrDisconnected):
		return err // with what the executor has said
	case errors.Is(err, transport.ErrGoingAway):
		return fmt.Errorf("control socket %s: no executor listens there", socket)
	}
	return err
}

// processes lists the processes of a session. One that has just ended has none.
func (o *operated) processes(ctx context.Context, sessionID string, usage bool) ([]protocol.ProcessInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, controlTimeout)
	defer cancel()
	list, err := o.control.Processes(ctx, sessionID, usage)
	switch {
	case errors.Is(err, client.ErrSessionLost):
		return nil, nil
	case err != nil:
		return nil, plain(o.socket, fmt.Errorf("asking the executor at %s: %w", o.socket, err))
	}
	return list, nil
}

func closeAll(all []*operated) {
	for _, o := range all {
		_ = o.control.Close()
	}
}

// shortID is how much of a session's id is shown: the whole gives access to it.
const shortID = 8

func short(sessionID string) string { return sessionID[:min(len(sessionID), shortID)] }

package spawn

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/airlock-exec/airlock/internal/helper/plan"
	"github.com/airlock-exec/airlock/internal/spawn/tree"
)

// canConfine tells that there is a helper to confine programs.
const canConfine = true

// A confined program is executed by a child of the helper, which stays: it is the
// leader of the tree, and the first process of the namespaces if there are any. See
// [plan.ControlFD] for what is said between it and us.

// launchConfined starts cmd, confined, as a tree of its own.
func (sys *system) launchConfined(cmd *Command, keeper *tree.Keeper, stop <-chan struct{}) (*Process, error) {
	if err := mayEnter(cmd.Dir); err != nil {
		return nil, asOSError(err)
	}
	io, err := openStdio(cmd)
	if err != nil {
		return nil, err
	}
	defer io.closeChild()
	h, err := sys.assign(cmd, keeper, io)
	if err == nil {
		var failed *SetupFailure
		if failed, err = h.await(cmd, stop); err == nil {
			p := newProcess(h.child, h.tree, io.input, cmd.TTY != nil, io.streams)
			p.limit(cmd.Limits, h.tree)
			p.confine(h, cmd.Confinement, failed)
			return p, nil
		}
		h.discard()
	}
	io.closeOurs()
	return nil, asOSError(err)
}

// mayEnter tells whether a directory is there and may be the working directory.
// Whether it is there inside, too, the helper finds out.
func mayEnter(dir string) error {
	if dir == "" {
		return nil
	}
	var s unix.Stat_t
	if err := unix.Stat(dir, &s); err != nil {
		return err
	}
	if s.Mode&unix.S_IFMT != unix.S_IFDIR {
		return syscall.ENOTDIR
	}
	return nil
}

// assign gives cmd to a helper, one that is prepared if there is any.
func (sys *system) assign(cmd *Command, keeper *tree.Keeper, io *stdio) (*readyHelper, error) {
	kind := kindOf(cmd.Confinement)
	if cmd.Limits.MemoryBytes == 0 && cmd.Limits.Processes == 0 {
		for {
			h := sys.prepared.take(sys, kind, keeper)
			if h == nil {
				break
			}
			err := h.assign(cmd, io)
			if err == nil {
				return h, nil
			}
			h.discard()
			if !isDeath(err) {
				return nil, err
			}
		}
	}
	h, err := sys.startHelper(kind, keeper, cmd.Limits)
	if err != nil {
		return nil, err
	}
	if err := h.assign(cmd, io); err != nil && !isDeath(err) {
		h.discard()
		return nil, err
	}
	return h, nil // if it has died, await finds out
}

// isDeath tells whether a helper could not be told something because it is dead.
func isDeath(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)
}

// assign gives the helper its task.
func (h *readyHelper) assign(cmd *Command, io *stdio) error {
	p := &plan.Plan{
		Path: cmd.Argv[0], Argv: cmd.Argv, Env: cmd.Env, Dir: cmd.Dir,
		TTY: cmd.TTY != nil, Rlimits: cmd.Limits.rlimits(), Writes: planWrites(h.tree), Confine: cmd.Confinement,
	}
	if cmd.Arg0 != nil {
		p.Argv = append([]string{*cmd.Arg0}, cmd.Argv[1:]...)
	}
	if cmd.Program != nil {
		p.Path = ""
	}
	file, err := planFile(p)
	if err != nil {
		return handOverError(err)
	}
	defer unix.Close(file)
	fds := []int{file}
	for _, fd := range io.files() {
		fds = append(fds, int(fd))
	}
	return handOverError(h.send(cmd.Program, fds))
}

// send sends the assignment, with the program's file if there is one.
func (h *readyHelper) send(program *os.File, fds []int) error {
	if program == nil {
		return h.control.send(plan.Assign{}, fds...)
	}
	conn, err := program.SyscallConn()
	if err != nil {
		return err
	}
	var sent error
	err = conn.Control(func(fd uintptr) { sent = h.control.send(plan.Assign{}, append(fds, int(fd))...) })
	return errors.Join(err, sent)
}

func handOverError(err error) error {
	if err == nil {
		return nil
	}
	return &Error{Kind: Failed, Err: fmt.Errorf("handing a command over to the helper: %w", err)}
}

// await waits until the program has been executed, or the set-up has failed, which
// is not an error. The error is for what is known to a start without confinement,
// too.
func (h *readyHelper) await(cmd *Command, stop <-chan struct{}) (*SetupFailure, error) {
	finish := watch(h.child, stop, h.control.interrupt)
	answer, err := h.answer(cmd)
	var end ending
	if err != nil {
		h.child.kill()
		end, _ = h.child.status(0)
	}
	given := finish()
	switch {
	case errors.Is(given, errStopped):
		return nil, given
	case given != nil:
		return &SetupFailure{Stage: stageHelper, Message: given.Error()}, nil //nolint:nilerr // it is told so
	case err != nil && h.tree.OutOfMemory():
		return nil, tooLittleMemory(cmd.Limits.MemoryBytes)
	case err != nil:
		return &SetupFailure{
			Stage:   stageHelper,
			Message: fmt.Sprintf("the helper has ended before it could execute the program, with status %d: %v", end.code, err),
		}, nil
	}
	if answer.Step == plan.Executing {
		return nil, nil
	}
	h.child.kill()
	if answer.Step == plan.Limiting || answer.Step == plan.Writing {
		return nil, meaning(answer, &plan.Plan{Rlimits: cmd.Limits.rlimits(), Writes: planWrites(h.tree)})
	}
	return &SetupFailure{Stage: answer.Step.String(), Message: complaint(answer)}, nil
}

// stageHelper is what has failed if the helper does not say what.
const stageHelper = "helper"

func planWrites(t *tree.Tree) (all []plan.Write) {
	for _, w := range t.Entry() {
		all = append(all, plan.Write(w))
	}
	return all
}

// complaint says what has failed.
func complaint(a plan.Answer) string {
	text := "setting up the sandbox (" + a.Step.String() + ")"
	if a.Detail != "" {
		text += ": " + a.Detail
	}
	if a.Errno != 0 {
		text += ": " + asOSError(a.Errno).Error()
	}
	return text
}

// answer waits for the helper's answer, and hands its sockets over before.
func (h *readyHelper) answer(cmd *Command) (plan.Answer, error) {
	buffer := make([]byte, plan.MaxMessage)
	var sockets []*os.File
	defer func() {
		for _, s := range sockets {
			s.Close()
		}
	}()
	for {
		m, fds, err := h.control.receive(buffer)
		if err != nil {
			return plan.Answer{}, err
		}
		if l, ok := m.(plan.Listeners); !ok || l.Count != len(fds) {
			closeAll(fds)
			fds = nil
		}
		for _, fd := range fds {
			sockets = append(sockets, os.NewFile(uintptr(fd), "listener"))
		}
		if len(sockets) > 0 && len(sockets) == len(cmd.Confinement.Listen) {
			taken := sockets
			sockets = nil
			if err := handListeners(cmd, taken); err != nil {
				return plan.Answer{}, err
			}
		}
		switch m := m.(type) {
		case plan.Answer:
			return m, nil
		case plan.Denial:
			h.early = append(h.early, m)
		}
	}
}

func handListeners(cmd *Command, sockets []*os.File) error {
	if cmd.Listeners == nil {
		for _, s := range sockets {
			s.Close()
		}
		return errors.New("nobody takes the sockets that the program is to find")
	}
	return cmd.Listeners(sockets)
}

// confine notes that the process is confined, and listens to what the helper says.
func (p *Process) confine(h *readyHelper, to *plan.Confinement, failed *SetupFailure) {
	c := &confined{isolated: to.Isolated, failed: failed, control: h.control, silent: make(chan struct{})}
	for _, m := range h.early {
		c.hear(m)
	}
	p.confined = c
	go func() {
		defer close(c.silent)
		buffer := make([]byte, plan.MaxMessage)
		for {
			m, fds, err := c.control.receive(buffer)
			closeAll(fds)
			if err != nil {
				return
			}
			c.hear(m)
		}
	}()
}

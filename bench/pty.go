package main

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// catArgv stays until its terminal goes.
var catArgv = []string{"cat"}

// keystroke is echoed by the terminal at once, and cat does not see it: no
// newline follows.
var keystroke = []byte("x")

// writeParams are the params of process/write.
type writeParams struct {
	ProcessID string `json:"processId"`
	Chunk     string `json:"chunk"`
	WriteID   string `json:"writeId"`
}

// ptyEcho times a keystroke from sending it to receiving its echo. The answer
// to the write may come before or after; it is not waited for.
func ptyEcho(ctx context.Context, t *target, n sizes) (s sample, err error) {
	err = t.withClient(ctx, nil, func(c *client, _ *instance) error {
		process, err := c.open(catArgv, true)
		if err != nil {
			return err
		}
		chunk := base64.StdEncoding.EncodeToString(keystroke)
		writes := 0
		s, err = timeEach(n.echoes, func() error {
			writes++
			_, err := c.send("process/write", writeParams{process, chunk, strconv.Itoa(writes)})
			for err == nil {
				var e event
				if e, err = c.next(); e.kind == eventOutput {
					break
				}
			}
			return err
		})
		return err
	})
	return s, err
}

// idlePTYMemory is what one more idle PTY adds to the server's own memory. The
// first process is run and gone before the count begins, so that what a server
// sets up once does not count as belonging to a PTY.
func idlePTYMemory(ctx context.Context, t *target, n sizes) (s sample, err error) {
	err = t.withClient(ctx, nil, func(c *client, srv *instance) error {
		if err := c.run(trueArgv, true); err != nil {
			return err
		}
		if err := rest(ctx, n.settle); err != nil {
			return err
		}
		before, err := residentBytes(srv.cmd.Process.Pid)
		if err != nil {
			return err
		}
		for range n.idlePTYs {
			if _, err := c.open(catArgv, true); err != nil {
				return err
			}
		}
		if err := rest(ctx, n.settle); err != nil {
			return err
		}
		after, err := residentBytes(srv.cmd.Process.Pid)
		s = sample{"each": (after - before) / float64(n.idlePTYs) / kilobyte}
		return err
	})
	return s, err
}

func barePTYEcho(ctx context.Context, n sizes) (sample, error) {
	p, err := startOnPTY(ctx, catArgv)
	if err != nil {
		return nil, err
	}
	defer p.hangUp()
	buffer := make([]byte, 4096)
	return timeEach(n.echoes, func() error {
		if _, err := p.master.Write(keystroke); err != nil {
			return err
		}
		_, err := p.master.Read(buffer)
		return err
	})
}

// ptyProcess is a child of this program on a terminal of its own.
type ptyProcess struct {
	cmd    *exec.Cmd
	master *os.File
}

// startOnPTY starts argv in a session of its own, with a new terminal as its
// controlling one. It is killed when ctx ends.
func startOnPTY(ctx context.Context, argv []string) (*ptyProcess, error) {
	master, slave, err := openPTY()
	if err != nil {
		return nil, err
	}
	defer slave.Close()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = terminalAttributes()
	if err := cmd.Start(); err != nil {
		master.Close()
		return nil, err
	}
	return &ptyProcess{cmd, master}, nil
}

// drain reads the terminal until the child and whoever else had it open are
// gone, then reaps the child.
func (p *ptyProcess) drain() error {
	_, err := io.Copy(io.Discard, p.master)
	if errors.Is(err, syscall.EIO) {
		err = nil // how Linux says that the other end is closed
	}
	return errors.Join(err, p.master.Close(), p.cmd.Wait())
}

// hangUp ends the child and reaps it.
func (p *ptyProcess) hangUp() {
	p.master.Close()
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait() // killed, as asked
}

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// stopGrace is how long a server may take to end after SIGTERM. Then it is
// killed. What ran under it ends by itself: our workloads are short, write to
// a pipe that nobody reads any more, or sit on a PTY that hangs up.
const stopGrace = 5 * time.Second

// instance is a running server. Whoever starts one must stop it.
type instance struct {
	cmd     *exec.Cmd
	cancel  context.CancelFunc
	stderr  *tail
	url     string
	startup time.Duration // from the fork to having read the URL line
}

// start runs the server with the flags given and waits for its URL. It is
// stopped when ctx ends, too.
func (t *target) start(ctx context.Context, flags ...string) (*instance, error) {
	ctx, cancel := context.WithCancel(ctx)
	args := append(t.argv[1:len(t.argv):len(t.argv)], "--listen", "ws://127.0.0.1:0")
	cmd := exec.CommandContext(ctx, t.argv[0], append(args, flags...)...)
	cmd.Env = append(os.Environ(), t.env...)
	cmd.SysProcAttr = serverAttributes()
	cmd.WaitDelay = stopGrace
	cmd.Cancel = func() error {
		err := cmd.Process.Signal(syscall.SIGTERM)
		if err == nil || errors.Is(err, os.ErrProcessDone) {
			return err
		}
		return cmd.Process.Kill() // Windows has no SIGTERM
	}
	s := &instance{cmd: cmd, cancel: cancel, stderr: &tail{}}
	cmd.Stderr = s.stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		cancel()
		return nil, fmt.Errorf("making a pipe for its output: %w", err)
	}

	begin := time.Now()
	if err := cmd.Start(); err != nil {
		cancel()
		return nil, fmt.Errorf("starting %s: %w", t.argv[0], err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	s.startup = time.Since(begin)
	s.url = strings.TrimSpace(line)
	if err == nil && !strings.HasPrefix(s.url, "ws://") {
		err = fmt.Errorf("unexpected first line %q", s.url)
	}
	if err != nil {
		s.stop()
		return nil, s.explain(fmt.Errorf("waiting for its ws:// URL: %w", err))
	}
	return s, nil
}

// stop ends the server and waits until it is gone.
func (s *instance) stop() {
	s.cancel()
	_ = s.cmd.Wait() // it was told to end: how it did is not the measure
}

// explain adds what the server last said on stderr to err.
func (s *instance) explain(err error) error {
	if said := s.stderr.String(); said != "" {
		return fmt.Errorf("%w\nits stderr ends: %s", err, said)
	}
	return err
}

// withClient runs f against a fresh server with one initialised connection.
func (t *target) withClient(ctx context.Context, flags []string, f func(*client, *instance) error) error {
	srv, err := t.start(ctx, flags...)
	if err != nil {
		return err
	}
	defer srv.stop()
	c, err := dial(ctx, srv.url)
	if err != nil {
		return srv.explain(err)
	}
	defer c.close()
	if err := f(c, srv); err != nil {
		return srv.explain(err)
	}
	return nil
}

// tail is a writer that keeps the last bytes written to it.
type tail struct {
	mu  sync.Mutex
	end []byte // guarded by mu
}

const tailBytes = 2048

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end = append(t.end, p...)
	t.end = t.end[max(0, len(t.end)-tailBytes):]
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.end))
}

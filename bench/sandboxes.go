package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// atOnce is how many confined processes are started at the same time.
const atOnce = 100

// sandboxedFirst times the first confined process of a server, which has nothing
// prepared for it and has not looked at the host yet, and how much more that takes
// than a plain one before it.
func sandboxedFirst(ctx context.Context, t *target, n sizes) (sample, error) {
	var plain, confined []float64
	for range n.starts {
		err := t.withClient(ctx, nil, func(c *client, _ *instance) error {
			if err := c.ws.acknowledgeAtOnce(); err != nil {
				return err
			}
			for range warmUps { // of all that is not the sandbox's
				if err := c.run(trueArgv, false); err != nil {
					return err
				}
			}
			begin := time.Now()
			if err := c.run(trueArgv, false); err != nil {
				return err
			}
			middle := time.Now()
			err := c.runConfined(trueArgv, false, readOnly())
			plain = append(plain, milliseconds(middle.Sub(begin)))
			confined = append(confined, milliseconds(time.Since(middle)))
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return sample{"added": median(confined) - median(plain)}, nil
}

// sandboxedMany starts many confined processes at once, on one connection to a
// server that may work on as many requests.
func sandboxedMany(ctx context.Context, t *target, n sizes) (s sample, err error) {
	err = t.withClient(ctx, []string{"--concurrent-requests", fmt.Sprint(atOnce)}, func(c *client, _ *instance) error {
		sandbox := readOnly()
		if err := c.runConfined(mustNotWrite(n), false, sandbox); err != nil {
			return fmt.Errorf("a write that the sandbox must refuse: %w", err)
		}
		begin := time.Now()
		for range atOnce {
			if _, err := c.launchConfined(trueArgv, false, sandbox); err != nil {
				return err
			}
		}
		for finished := 0; finished < atOnce; {
			e, err := c.next()
			if err != nil {
				return err
			}
			if e.finished {
				finished++
			}
		}
		s = sample{"rate": perSecond(atOnce, begin)}
		return nil
	})
	return s, err
}

// bareSandboxedMany starts as many with bubblewrap.
func bareSandboxedMany(ctx context.Context, _ sizes) (sample, error) {
	confined, err := bwrap(ctx, nil)
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	errs := make(chan error, atOnce)
	for range atOnce {
		go func() { errs <- confined() }()
	}
	for range atOnce {
		err = errors.Join(err, <-errs)
	}
	return sample{"rate": perSecond(atOnce, begin)}, err
}

// idleSandboxMemory holds confined processes open, and adds up the memory of each
// one and of all that stands between it and the server.
func idleSandboxMemory(ctx context.Context, t *target, n sizes) (s sample, err error) {
	err = t.withClient(ctx, nil, func(c *client, srv *instance) error {
		for range n.idleBoxes {
			if _, err := c.openConfined(sleepArgv, false, readOnly()); err != nil {
				return err
			}
		}
		if err := rest(ctx, n.settle); err != nil {
			return err
		}
		total, found, err := residentBetween(srv.cmd.Process.Pid, filepath.Base(sleepArgv[0]))
		if err != nil {
			return err
		}
		if found != n.idleBoxes {
			return fmt.Errorf("%d of %d confined processes are there", found, n.idleBoxes)
		}
		s = sample{"each": total / float64(found) / megabyte}
		return nil
	})
	return s, err
}

// sleepArgv is a process that stays.
var sleepArgv = []string{"/bin/sleep", "1000"}

// sandboxedRead reads a small file again and again, confined.
func sandboxedRead(ctx context.Context, t *target, n sizes) (s sample, err error) {
	path := filepath.Join(n.fixtures.dir, "small")
	if err := os.WriteFile(path, make([]byte, 1024), 0o600); err != nil {
		return nil, err
	}
	hidden, err := n.fixtures.makeWorkspace("hidden")
	if err != nil {
		return nil, err
	}
	secret := filepath.Join(hidden, "secret")
	if err := os.WriteFile(secret, nil, 0o600); err != nil {
		return nil, err
	}
	// To read everything takes no confinement: something has to be denied.
	sandbox := readOnly()
	sandbox.deny(hidden)
	type params struct {
		pathParams
		Sandbox *sandboxContext `json:"sandbox"`
	}
	err = t.withClient(ctx, nil, func(c *client, _ *instance) (err error) {
		if err := c.call("fs/readFile", params{pathParams{fileURI(secret)}, sandbox}); err == nil {
			return errors.New("fs/readFile: what the sandbox denies is read")
		}
		s, err = timeEach(n.roundTrips/10, func() error {
			return c.call("fs/readFile", params{pathParams{fileURI(path)}, sandbox})
		})
		return err
	})
	return s, err
}

// sandboxedWriteFile writes a small file again and again, confined to a workspace
// that lacks some of the names that are protected in it.
func sandboxedWriteFile(ctx context.Context, t *target, n sizes) (s sample, err error) {
	dir, err := n.fixtures.makeWorkspace(t.name + "-files")
	if err != nil {
		return nil, err
	}
	type params struct {
		pathParams
		DataBase64 string          `json:"dataBase64"`
		Sandbox    *sandboxContext `json:"sandbox"`
	}
	write := func(c *client, path string) error {
		return c.call("fs/writeFile", params{pathParams{fileURI(path)}, "YQ==", workspaceWrite(dir)})
	}
	err = t.withClient(ctx, nil, func(c *client, _ *instance) (err error) {
		if err := write(c, filepath.Join(n.fixtures.dir, "must-not-be")); err == nil {
			return errors.New("fs/writeFile: what the sandbox denies is written")
		}
		s, err = timeEach(n.roundTrips/20, func() error { return write(c, filepath.Join(dir, "file")) })
		return err
	})
	return s, err
}

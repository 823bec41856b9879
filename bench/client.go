package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
)

// client is one initialised connection to a server. It has one goroutine: the
// caller sends, then calls next until what it waits for has come.
type client struct {
	ws     *wsConn
	lastID int
	text   []byte // the memory of a message being sent

	// live holds the processes that are not finished yet, by process id,
	// and starts those whose start is not answered yet, by request id.
	live   map[string]*progress
	starts map[int]string
}

// progress is what has been heard of one process. Servers may deliver the
// three in any order, so a process is finished when all of them have come.
type progress struct {
	answered, exited, closed bool
}

// dial connects and initialises. When ctx ends the connection fails.
func dial(ctx context.Context, url string) (*client, error) {
	ws, err := dialWebSocket(ctx, url)
	if err != nil {
		return nil, err
	}
	c := &client{ws: ws, live: map[string]*progress{}, starts: map[int]string{}}
	if err := c.call("initialize", map[string]string{"clientName": "airlock-bench"}); err != nil {
		c.close()
		return nil, err
	}
	if err := c.write(request{Method: "initialized", Params: struct{}{}}); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func (c *client) close() { c.ws.close() }

// request is a request or, without an id, a notification.
type request struct {
	ID     int    `json:"id,omitempty"`
	Method string `json:"method"`
	Params any    `json:"params,omitempty"`
}

func (c *client) write(r request) error {
	text, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("%s: encoding: %w", r.Method, err)
	}
	if err := c.ws.writeText(text); err != nil {
		return fmt.Errorf("%s: sending: %w", r.Method, err)
	}
	return nil
}

// send sends a request and returns its id.
func (c *client) send(method string, params any) (id int, err error) {
	c.lastID++
	return c.lastID, c.write(request{c.lastID, method, params})
}

// call is ask for those who need no result.
func (c *client) call(method string, params any) error {
	_, err := c.ask(method, params)
	return err
}

// ask sends a request and waits for its answer, whose result is valid until the
// next message is read. Events that come meanwhile are dropped: it is for
// moments when none is of interest.
func (c *client) ask(method string, params any) (result []byte, err error) {
	id, err := c.send(method, params)
	if err != nil {
		return nil, err
	}
	return c.answerTo(method, id)
}

// askRaw is ask with params that are JSON already: to look at a megabyte in them
// would take longer than to send it.
func (c *client) askRaw(method string, params []byte) (result []byte, err error) {
	c.lastID++
	c.text = fmt.Appendf(c.text[:0], `{"id":%d,"method":%q,"params":%s}`, c.lastID, method, params)
	if err := c.ws.writeText(c.text); err != nil {
		return nil, fmt.Errorf("%s: sending: %w", method, err)
	}
	return c.answerTo(method, c.lastID)
}

// answerTo waits for the answer to a request that has been sent.
func (c *client) answerTo(method string, id int) (result []byte, err error) {
	for {
		e, err := c.next()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", method, err)
		}
		if e.kind == eventAnswer && e.id == id {
			return e.result, nil
		}
	}
}

// startParams are the params of process/start.
type startParams struct {
	ProcessID string            `json:"processId"`
	Argv      []string          `json:"argv"`
	Cwd       string            `json:"cwd"`
	Env       map[string]string `json:"env"`
	TTY       bool              `json:"tty"`
	Sandbox   *sandboxContext   `json:"sandbox,omitempty"`
}

var processEnv = map[string]string{"PATH": "/usr/local/bin:/usr/bin:/bin"}

// launch sends process/start and returns the process id without waiting.
func (c *client) launch(argv []string, tty bool) (process string, err error) {
	return c.launchConfined(argv, tty, nil)
}

// launchConfined is launch in a sandbox, or in none if it is nil.
func (c *client) launchConfined(argv []string, tty bool, sandbox *sandboxContext) (process string, err error) {
	process = "p" + strconv.Itoa(c.lastID+1)
	id, err := c.send("process/start", startParams{process, argv, "file:///", processEnv, tty, sandbox})
	if err != nil {
		return "", err
	}
	c.live[process] = &progress{}
	c.starts[id] = process
	return process, nil
}

// run starts a process and waits until it is finished.
func (c *client) run(argv []string, tty bool) error {
	return c.runConfined(argv, tty, nil)
}

// runConfined is run in a sandbox, or in none if it is nil.
func (c *client) runConfined(argv []string, tty bool, sandbox *sandboxContext) error {
	if _, err := c.launchConfined(argv, tty, sandbox); err != nil {
		return err
	}
	for {
		if e, err := c.next(); err != nil || e.finished {
			return err
		}
	}
}

// open starts a process that stays and waits for the answer to its start.
func (c *client) open(argv []string, tty bool) (process string, err error) {
	return c.openConfined(argv, tty, nil)
}

// openConfined is open in a sandbox, or in none if it is nil.
func (c *client) openConfined(argv []string, tty bool, sandbox *sandboxContext) (process string, err error) {
	process, err = c.launchConfined(argv, tty, sandbox)
	for err == nil && !c.live[process].answered {
		_, err = c.next()
	}
	return process, err
}

// next waits for the next message and keeps the books about processes. Error
// answers and exit codes other than 0 are errors: all our workloads succeed.
func (c *client) next() (event, error) {
	text, err := c.ws.readMessage()
	if err != nil {
		return event{}, err
	}
	e, err := parseEvent(text)
	if err != nil || e.kind == eventOutput || e.kind == eventBody || e.kind == eventOther {
		return e, err
	}
	process := e.process
	if e.kind == eventAnswer {
		process = c.starts[e.id]
		delete(c.starts, e.id)
	}
	p := c.live[process]
	if p == nil {
		return e, nil // an answer to another method
	}
	switch e.kind {
	case eventAnswer:
		p.answered = true
	case eventExited:
		p.exited = true
		if e.exitCode != 0 {
			return e, fmt.Errorf("process %s exited with code %d", process, e.exitCode)
		}
	case eventClosed:
		p.closed = true
	case eventOutput, eventBody, eventOther:
	}
	if p.answered && p.exited && p.closed {
		delete(c.live, process)
		e.finished = true
	}
	return e, nil
}

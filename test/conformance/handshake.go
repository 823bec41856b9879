package conformance

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// request writes a request.
func request(id any, method string, params any, hasParams bool) string {
	tree := map[string]any{"id": id, "method": method}
	if hasParams {
		tree["params"] = params
	}
	return encode(tree)
}

// sendText sends one message in one frame.
func (c *conn) sendText(ctx context.Context, text string) error {
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(time.Minute)
	}
	err := c.write(deadline, frame{opcode: opText, fin: true, payload: []byte(text)})
	if err == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended != "" {
		return fmt.Errorf("sending: %w (%s)", errEnded, c.ended)
	}
	return fmt.Errorf("sending: %w", err)
}

// newID returns an id that the connection has not used.
func (c *conn) newID() any {
	c.nextID++
	return number(strconv.Itoa(c.nextID))
}

// ask sends a request and returns the answer to it.
func (c *conn) ask(ctx context.Context, method string, params any) (*message, error) {
	id := c.newID()
	if err := c.sendText(ctx, request(id, method, params, true)); err != nil {
		return nil, err
	}
	return c.answer(ctx, "the answer to "+method, id)
}

// handshake opens a session, or resumes one, and returns its id.
func (c *conn) handshake(ctx context.Context, resume any) (session any, err error) {
	params := map[string]any{"clientName": "conformance"}
	if resume != nil {
		params["resumeSessionId"] = resume
	}
	reply, err := c.ask(ctx, "initialize", params)
	for err == nil && resume != nil && attachedElsewhere(reply) {
		// The server may not have noticed yet that the other connection is gone.
		if err = pause(ctx, 20*time.Millisecond); err == nil {
			reply, err = c.ask(ctx, "initialize", params)
		}
	}
	if err != nil {
		return nil, err
	}
	result, ok := reply.tree["result"].(map[string]any)
	if !ok {
		return nil, fmt.Errorf("initialize was answered %s", show(reply.tree))
	}
	if session, ok = result["sessionId"].(string); !ok {
		return nil, errors.New("initialize was answered without a sessionId")
	}
	return session, c.sendText(ctx, `{"method":"initialized"}`)
}

func attachedElsewhere(reply *message) bool {
	refusal, _ := reply.tree["error"].(map[string]any)
	return refusal["code"] == number("-32010")
}

// kill terminates those of some processes that are not known to have ended. A
// session without one of them does not mind.
func (c *conn) kill(ctx context.Context, processes []string) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	for _, process := range processes {
		if whole(c.eventsOf(process)) {
			continue
		}
		if _, err := c.ask(ctx, "process/terminate", map[string]any{"processId": process}); err != nil {
			return // there is no more to be done from here
		}
	}
}

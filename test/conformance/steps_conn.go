package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

func (r *run) open(ctx context.Context, s *step) error {
	name, err := r.text(s, "open")
	if err != nil {
		return err
	}
	if _, taken := r.conns[name]; taken {
		return fmt.Errorf("connection %s is open already", name)
	}
	connection, err := r.target.connect(ctx)
	if err != nil {
		return err
	}
	r.conns[name] = connection
	_, resumes := s.fields["resume"]
	if s.fields["ready"] != true && !resumes {
		return nil
	}
	var resume any
	if resumes {
		if resume, err = r.text(s, "resume"); err != nil {
			return err
		}
	}
	session, err := connection.handshake(ctx, resume)
	if name, ok := s.fields["session"].(string); ok {
		r.vars[name] = session
	}
	return err
}

// drop cuts a connection without a word.
func (r *run) drop(_ context.Context, s *step) error {
	name, err := r.text(s, "drop")
	if err != nil {
		return err
	}
	connection, err := r.named(name)
	if err == nil {
		connection.dropped = true // what was under way may have been answered or not
		connection.cut()
	}
	return err
}

// leave ends a connection as a client should, with a close frame.
func (r *run) leave(ctx context.Context, s *step) error {
	name, err := r.text(s, "leave")
	if err != nil {
		return err
	}
	connection, err := r.named(name)
	if err != nil {
		return err
	}
	if err := connection.write(deadline(ctx), frame{opcode: opClose, fin: true, payload: []byte{0x03, 0xe8}}); err != nil {
		return err
	}
	_, err = connection.waitEnd(ctx)
	return err
}

func deadline(ctx context.Context) time.Time {
	at, _ := ctx.Deadline()
	return at
}

// waitEnd waits until the connection has ended, and says how: "close frame N",
// or "dropped".
func (c *conn) waitEnd(ctx context.Context) (string, error) {
	err := c.wait(ctx, "the end of the connection", func() bool { return false })
	if !errors.Is(err, errEnded) {
		return "", err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !strings.HasPrefix(c.ended, "close frame") {
		return "dropped", nil
	}
	return c.ended, nil
}

func (r *run) ended(ctx context.Context, s *step) error {
	name, err := r.text(s, "ended")
	if err != nil {
		return err
	}
	connection, err := r.named(name)
	if err != nil {
		return err
	}
	how, err := connection.waitEnd(ctx)
	if err != nil {
		return err
	}
	if pattern, ok := s.fields["expect"]; ok {
		r.verify(s, pattern, how)
	}
	return nil
}

func (r *run) http(ctx context.Context, s *step) error {
	tree, err := r.value(s, "http")
	if err != nil {
		return err
	}
	request, err := parseHTTP(tree)
	if err != nil {
		return err
	}
	answer, err := r.target.exchange(ctx, request)
	if err != nil {
		return err
	}
	r.verify(s, s.fields["expect"], answer)
	return nil
}

// send sends a message, whatever is in it.
func (r *run) send(ctx context.Context, s *step) error {
	connection, err := r.connection(s)
	if err != nil {
		return err
	}
	text, err := r.text(s, "send")
	if err != nil {
		return err
	}
	opcode := byte(opText)
	if s.fields["binary"] == true {
		opcode = opBinary
	}
	pieces := 1
	if n, ok := integer(s.fields["pieces"]); ok {
		pieces = max(int(n), 1)
	}
	return connection.write(deadline(ctx), fragments(opcode, text, pieces)...)
}

// fragments cuts a message into frames.
func fragments(opcode byte, text string, pieces int) []frame {
	size := (len(text) + pieces - 1) / pieces
	var frames []frame
	for i := range pieces {
		part := text[min(i*size, len(text)):min((i+1)*size, len(text))]
		f := frame{opcode: opContinuation, fin: i == pieces-1, payload: []byte(part)}
		if i == 0 {
			f.opcode = opcode
		}
		frames = append(frames, f)
	}
	return frames
}

// frame sends one frame, legal or not.
func (r *run) frame(ctx context.Context, s *step) error {
	connection, err := r.connection(s)
	if err != nil {
		return err
	}
	f, err := parseFrame(s.fields["frame"])
	if err != nil {
		return err
	}
	object, _ := s.fields["frame"].(map[string]any)
	if payload, ok := object["payload"]; ok {
		expanded, err := expand(payload, r.vars)
		text, isText := expanded.(string)
		if err != nil || !isText {
			return fmt.Errorf("the payload can't be made: %w", err)
		}
		f.payload = []byte(text)
	}
	return connection.write(deadline(ctx), f)
}

func (r *run) ping(ctx context.Context, s *step) error {
	connection, err := r.connection(s)
	if err != nil {
		return err
	}
	payload, err := r.text(s, "ping")
	if err != nil {
		return err
	}
	if err := connection.write(deadline(ctx), frame{opcode: opPing, fin: true, payload: []byte(payload)}); err != nil {
		return err
	}
	return connection.wait(ctx, "a pong "+strconv.Quote(payload), func() bool {
		return slices.Contains(connection.pongs, payload)
	})
}

package conformance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"
)

// beginRequest sends the request that a step describes.
func (r *run) beginRequest(ctx context.Context, s *step, method string, params any, hasParams bool) (*begun, error) {
	connection, err := r.connection(s)
	if err != nil {
		return nil, err
	}
	id := connection.newID()
	if _, ok := s.fields["id"]; ok && s.action != "write" {
		if id, err = r.value(s, "id"); err != nil {
			return nil, err
		}
	}
	if method == "process/start" {
		object, _ := params.(map[string]any)
		if process, ok := object["processId"].(string); ok {
			connection.started = append(connection.started, process)
		}
	}
	b := &begun{conn: connection, id: id, at: time.Now(), method: method}
	return b, connection.sendText(ctx, request(id, method, params, hasParams))
}

// settle waits for the answer and compares it. A step that expects nothing
// wants a result.
func (r *run) settle(ctx context.Context, s *step, b *begun) error {
	if b.reply == nil {
		reply, err := b.conn.answer(ctx, "the answer to "+b.method, b.id)
		if err != nil {
			return err
		}
		b.reply = reply
	}
	tree := withoutID(b.reply.tree)
	pattern, expects := s.fields["expect"]
	if !expects {
		if _, ok := tree["result"]; !ok {
			return fmt.Errorf("%s was answered %s", b.method, show(tree))
		}
	} else {
		r.verify(s, pattern, tree)
	}
	if interval, ok := s.fields["took"].([]any); ok {
		r.took(s, interval, b.reply.at.Sub(b.at))
	}
	return nil
}

// took checks how long an answer took. A busy machine makes everything later,
// never earlier.
func (r *run) took(s *step, interval []any, took time.Duration) {
	if r.peer && s.differs != nil {
		return
	}
	low, _ := integer(interval[0])
	high, _ := integer(interval[1])
	if ms := took.Milliseconds(); ms < low || ms > high {
		r.fail(s, Failure{
			Expected: fmt.Sprintf("an answer after %d to %d ms", low, high),
			Came:     fmt.Sprintf("it after %d ms", ms),
		})
	}
}

func (r *run) call(ctx context.Context, s *step) error {
	b, err := r.beginStep(ctx, s)
	if err != nil {
		return err
	}
	until, asks := s.fields["until"]
	for asks {
		if b.reply, err = b.conn.answer(ctx, "the answer to "+b.method, b.id); err != nil {
			return err
		}
		wrong := match(until, withoutID(b.reply.tree), r.vars)
		if len(wrong) == 0 {
			break
		}
		if err := pause(ctx, pollInterval); err != nil {
			return fmt.Errorf("asking until the answer is as it should be: %w: %v", err, wrong[0])
		}
		if b, err = r.beginStep(ctx, s); err != nil {
			return err
		}
	}
	return r.settle(ctx, s, b)
}

// pollInterval is the time between two calls of a step that asks until the answer
// is as it should be.
const pollInterval = 30 * time.Millisecond

// withoutID returns an answer without the id, which is the one that was asked with.
func withoutID(answer map[string]any) map[string]any {
	tree := maps.Clone(answer)
	delete(tree, "id")
	return tree
}

func (r *run) beginStep(ctx context.Context, s *step) (*begun, error) {
	method, err := r.text(s, s.action)
	if err != nil {
		return nil, err
	}
	params, err := r.value(s, "params")
	if err != nil {
		return nil, err
	}
	_, hasParams := s.fields["params"]
	return r.beginRequest(ctx, s, method, params, hasParams)
}

func (r *run) begin(ctx context.Context, s *step) error {
	b, err := r.beginStep(ctx, s)
	r.begun[s.fields["as"].(string)] = b
	return err
}

func (r *run) await(ctx context.Context, s *step) error {
	b, err := r.request(s.fields["await"])
	if err != nil {
		return err
	}
	return r.settle(ctx, s, b)
}

func (r *run) request(name any) (*begun, error) {
	b := r.begun[name.(string)]
	if b == nil {
		return nil, fmt.Errorf("no request has begun as %s", name)
	}
	return b, nil
}

// order checks in which order requests were answered.
func (r *run) order(ctx context.Context, s *step) error {
	var last time.Time
	for _, name := range s.fields["order"].([]any) {
		b, err := r.request(name)
		if err != nil {
			return err
		}
		if b.reply == nil {
			if b.reply, err = b.conn.answer(ctx, fmt.Sprintf("the answer to %s", name), b.id); err != nil {
				return err
			}
		}
		if b.reply.at.Before(last) {
			r.fail(s, Failure{Expected: "answers in the order " + show(s.fields["order"]), Came: fmt.Sprintf("%s too early", name)})
			return nil
		}
		last = b.reply.at
	}
	return nil
}

// answer takes the next answer, or the next to an id.
func (r *run) answer(ctx context.Context, s *step) error {
	connection, err := r.connection(s)
	if err != nil {
		return err
	}
	var id any // of any request
	if _, ok := s.fields["to"]; ok {
		if id, err = r.value(s, "to"); err != nil {
			return err
		}
	}
	m, err := connection.answer(ctx, "an answer", id)
	if err != nil {
		return err
	}
	r.verify(s, s.fields["answer"], m.tree)
	return nil
}

func (r *run) notify(ctx context.Context, s *step) error {
	connection, err := r.connection(s)
	if err != nil {
		return err
	}
	method, err := r.text(s, "notify")
	if err != nil {
		return err
	}
	tree := map[string]any{"method": method}
	if _, ok := s.fields["params"]; ok {
		if tree["params"], err = r.value(s, "params"); err != nil {
			return err
		}
	}
	return connection.sendText(ctx, encode(tree))
}

// quiet checks that nothing comes for a while, counted from what a step has taken
// last.
func (r *run) quiet(ctx context.Context, s *step) error {
	connection, err := r.connection(s)
	if err != nil {
		return err
	}
	ms, _ := integer(s.fields["quiet"])
	quiet, cancel := context.WithTimeout(ctx, time.Duration(ms)*time.Millisecond)
	defer cancel()
	var came *message
	err = connection.wait(quiet, "nothing", func() bool {
		for _, m := range connection.answers {
			if !m.claimed {
				came = m
			}
		}
		for _, m := range connection.notes {
			if !m.claimed && m.at.After(connection.taken) {
				came = m
			}
		}
		return came != nil
	})
	switch {
	case err == nil:
		r.fail(s, Failure{Expected: fmt.Sprintf("nothing for %d ms", ms), Came: "a message: " + show(came.tree)})
	case errors.Is(err, errEnded):
		return err
	}
	return nil
}

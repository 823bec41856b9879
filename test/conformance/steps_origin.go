package conformance

import (
	"context"
	"fmt"
	"slices"
)

// prepareOrigin opens the origin of a case: ${origin} and ${other} are the URLs of
// its two listeners, ${host} and ${otherHost} what stands behind http:// there.
func (r *run) prepareOrigin(ctx context.Context, tree any) error {
	o, err := newOrigin(ctx)
	if err != nil {
		return err
	}
	r.origin = o // to be closed at the end
	r.vars["host"], r.vars["otherHost"] = o.host(0), o.host(1)
	r.vars["origin"], r.vars["other"] = "http://"+o.host(0), "http://"+o.host(1)
	expanded, err := expand(tree, r.vars)
	if err != nil {
		return fmt.Errorf("origin: %w", err)
	}
	answers, err := parseOrigin(expanded)
	if err != nil {
		return err
	}
	o.serve(answers)
	return nil
}

// asked waits for a request for a target, and compares it.
func (r *run) asked(ctx context.Context, s *step) error {
	target, err := r.text(s, "asked")
	if err != nil {
		return err
	}
	request, err := r.origin.request(ctx, target)
	if err != nil {
		return err
	}
	if pattern, ok := s.fields["expect"]; ok {
		r.verify(s, pattern, request)
	}
	return nil
}

// unasked checks that nobody has asked for a target, but for what steps have taken.
func (r *run) unasked(_ context.Context, s *step) error {
	target, err := r.text(s, "unasked")
	if err != nil {
		return err
	}
	r.origin.mu.Lock()
	next := r.origin.nextLocked(target)
	r.origin.mu.Unlock()
	if next != nil {
		r.fail(s, Failure{Expected: "no request for " + target, Came: show(next.tree)})
	}
	return nil
}

// release lets answers go on that wait at a gate, now and later.
func (r *run) release(_ context.Context, s *step) error {
	name := s.fields["release"].(string)
	gate := r.origin.gate(name)
	select {
	case <-gate:
		return fmt.Errorf("gate %s is open already", name)
	default:
		close(gate)
	}
	return nil
}

// left waits until the executor has ended a connection whose answer waits.
func (r *run) left(ctx context.Context, s *step) error {
	target, err := r.text(s, "left")
	if err != nil {
		return err
	}
	return r.origin.wait(ctx, "the executor to give up "+target, func() bool {
		i := slices.Index(r.origin.left, target)
		if i >= 0 {
			r.origin.left = slices.Delete(r.origin.left, i, i+1)
		}
		return i >= 0
	})
}

// reaches reports whether the executor can reach an origin of ours. It does not
// if it answers for an origin that was not asked, or could not ask; any other
// answer is for the cases to judge.
func (t *target) reaches(ctx context.Context) (bool, error) {
	o, err := newOrigin(ctx)
	if err != nil {
		return false, err
	}
	defer o.close()
	o.serve(nil)
	c, err := t.connect(ctx)
	if err != nil {
		return false, err
	}
	defer c.cut()
	if _, err := c.handshake(ctx, nil); err != nil {
		return false, err
	}
	reply, err := c.ask(ctx, "http/request", map[string]any{
		"method": "GET", "url": "http://" + o.host(0) + "/", "requestId": "reach", "timeoutMs": number("3000"),
	})
	if err != nil {
		return false, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	refusal, refused := reply.tree["error"].(map[string]any)
	return len(o.asked) > 0 || refused && refusal["code"] != number("-32603"), nil
}

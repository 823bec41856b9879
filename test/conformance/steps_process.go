package conformance

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"
)

// start starts a process. What with does not say is the usual: the folder /tmp,
// a PATH and nothing else in the environment, and pipes.
func (r *run) start(ctx context.Context, s *step) error {
	process, err := r.text(s, "start")
	if err != nil {
		return err
	}
	var argv any
	if _, ok := s.fields["script"]; ok {
		script, err := r.text(s, "script")
		if err != nil {
			return err
		}
		argv = []any{"/bin/sh", "-c", script}
	} else if argv, err = r.value(s, "argv"); err != nil {
		return err
	}
	params := startParams(process, argv)
	with, err := r.value(s, "with")
	if err != nil {
		return err
	}
	if object, ok := with.(map[string]any); ok {
		maps.Copy(params, object)
	}
	b, err := r.beginRequest(ctx, s, "process/start", params, true)
	if err != nil {
		return err
	}
	return r.settle(ctx, s, b)
}

// startParams are the usual parameters of a start.
func startParams(process string, argv any) map[string]any {
	return map[string]any{
		"processId": process, "argv": argv, "cwd": "file:///tmp", "tty": false,
		"env": map[string]any{"PATH": "/usr/local/bin:/usr/bin:/bin"},
	}
}

// writeStdin writes to a process, and by default wants that to be accepted.
func (r *run) writeStdin(ctx context.Context, s *step) error {
	process, err := r.text(s, "write")
	if err != nil {
		return err
	}
	data, err := r.text(s, "data")
	if err != nil {
		return err
	}
	id, err := r.text(s, "id")
	if err != nil {
		return err
	}
	b, err := r.beginRequest(ctx, s, "process/write", map[string]any{
		"processId": process, "writeId": id, "chunk": base64.StdEncoding.EncodeToString([]byte(data)),
	}, true)
	if err != nil {
		return err
	}
	if err := r.settle(ctx, s, b); err != nil {
		return err
	}
	accepted := map[string]any{"status": "accepted"}
	if _, expects := s.fields["expect"]; !expects && encode(b.reply.tree["result"]) != encode(accepted) {
		return fmt.Errorf("the write was answered %s", show(b.reply.tree))
	}
	return nil
}

// notification takes the next notification of a method, and compares its
// parameters.
func (r *run) notification(ctx context.Context, s *step) error {
	connection, err := r.connection(s)
	if err != nil {
		return err
	}
	method, err := r.text(s, "notification")
	if err != nil {
		return err
	}
	of := ""
	if _, ok := s.fields["of"]; ok {
		if of, err = r.text(s, "of"); err != nil {
			return err
		}
	}
	m, err := connection.note(ctx, method, of)
	if err != nil {
		return err
	}
	r.verify(s, s.fields["expect"], m.tree["params"])
	return nil
}

// output waits until what a process has put out is as it should be.
func (r *run) output(ctx context.Context, s *step) error {
	connection, err := r.connection(s)
	if err != nil {
		return err
	}
	process, err := r.text(s, "output")
	if err != nil {
		return err
	}
	stream, _ := s.fields["stream"].(string)
	if stream == "" {
		stream = "stdout"
	}
	pattern, checks := s.fields["expect"]
	if !checks {
		pattern = s.fields["until"]
	}
	if r.peer && s.differs != nil {
		pattern = s.differs.expect
	}
	if pattern == nil {
		return nil
	}
	var text any
	err = connection.wait(ctx, "the output of "+process, func() bool {
		text = joined(connection.events[process])[stream]
		return text != nil && len(match(pattern, text, r.vars)) == 0
	})
	if err != nil {
		return fmt.Errorf("%w: it should be %s, and is %s", err, show(pattern), show(text))
	}
	return nil
}

// outcome waits until a process has been closed, and compares all that has been
// told of it.
func (r *run) outcome(ctx context.Context, s *step) error {
	connection, err := r.connection(s)
	if err != nil {
		return err
	}
	process, err := r.text(s, "outcome")
	if err != nil {
		return err
	}
	err = connection.wait(ctx, "the end of "+process, func() bool { return whole(connection.events[process]) })
	if err != nil {
		return fmt.Errorf("%w; so far there is %s", err, show(outcome(connection.eventsOf(process))))
	}
	connection.mu.Lock()
	connection.taken = time.Now()
	connection.mu.Unlock()
	tree := outcome(connection.eventsOf(process))
	pattern := s.fields["expect"].(map[string]any)
	if r.peer && s.differs != nil {
		pattern, _ = s.differs.expect.(map[string]any)
	}
	given := map[string]any{"numbered": true, "sandboxDenied": false} // also when nothing is said of it
	maps.Copy(given, pattern)
	for _, name := range outcomes {
		want, expected := given[name]
		came, is := tree[name]
		switch {
		case expected && is:
			r.outcomeMember(s, name, want, came)
		case expected:
			r.fail(s, Failure{Expected: name + ": " + show(want), Came: "nothing; all there is: " + show(tree)})
		case is && slices.Contains([]string{"stdout", "stderr", "pty"}, name):
			r.fail(s, Failure{Expected: "nothing on " + name, Came: show(came)})
		}
	}
	return nil
}

func (r *run) outcomeMember(s *step, name string, want, came any) {
	wrong := match(want, came, r.vars)
	if len(wrong) == 0 {
		return
	}
	f := Failure{Expected: name + ": " + show(want), Came: show(came)}
	for _, m := range wrong {
		m.path = "." + name + m.path
		f.Mismatches = append(f.Mismatches, m.String())
	}
	r.fail(s, f)
}

func (r *run) pause(ctx context.Context, s *step) error {
	ms, _ := integer(s.fields["pause"])
	return pause(ctx, time.Duration(ms)*time.Millisecond)
}

// lapse lets a part, in percent, of the time pass for which executors keep
// sessions and closed processes.
func (r *run) lapse(ctx context.Context, s *step) error {
	percent, _ := integer(s.fields["lapse"])
	return pause(ctx, time.Duration(percent)*r.options.TTL/100)
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (r *run) set(_ context.Context, s *step) error {
	value, err := r.value(s, "value")
	r.vars[s.fields["set"].(string)] = value
	return err
}

// errNested ends a repetition one of whose steps could not be made.
var errNested = errors.New("a step of the repetition failed")

func (r *run) repeat(ctx context.Context, s *step) error {
	times, _ := integer(s.fields["repeat"])
	for i := range times {
		r.vars["i"] = number(strconv.FormatInt(i, 10))
		if !r.steps(ctx, s.steps) {
			return errNested
		}
	}
	return nil
}

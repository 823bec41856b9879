package conformance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// mainConn is the connection that a case has from the start, unless its setup
// is none.
const mainConn = "main"

// run is one case under way. It belongs to one goroutine.
type run struct {
	target  *target
	options *Options
	server  subject
	peer    bool
	vars    variables
	conns   map[string]*conn
	begun   map[string]*begun
	result  *Result
	folder  string  // the path of the case's folder; "": there is none
	scripts int     // that have been run there
	origin  *origin // nil: there is none
	visited map[*step]bool
	failed  map[*step]int // checks that have failed
}

// begun is a request that has been sent.
type begun struct {
	conn   *conn
	id     any
	at     time.Time
	reply  *message
	method string
}

// maxShownFailures is how many failures of one step stand in a report.
const maxShownFailures = 3

// caseGrace is how long the end of a case may take.
const caseGrace = 5 * time.Second

// runCase runs one case against a target.
func runCase(ctx context.Context, t *target, options *Options, about subject, c *Case) Result {
	began := time.Now()
	r := &run{
		target: t, options: options, server: about, peer: about.peer, vars: variables{},
		conns: map[string]*conn{}, begun: map[string]*begun{},
		result:  &Result{Case: c.Name, Status: Passed},
		visited: map[*step]bool{}, failed: map[*step]int{},
	}
	err := r.setup(ctx, c)
	if err != nil {
		r.result.Failures = append(r.result.Failures, Failure{Step: "setup", Spec: c.Spec, Came: err.Error()})
	} else {
		r.steps(ctx, c.steps)
	}
	r.finish(ctx, c)
	r.count(c)
	r.result.Elapsed = time.Since(began)
	return *r.result
}

func (r *run) setup(ctx context.Context, c *Case) error {
	ctx, cancel := r.bounded(ctx, nil)
	defer cancel()
	if c.setup == "none" {
		return nil
	}
	connection, err := r.target.connect(ctx)
	if err != nil {
		return err
	}
	r.conns[mainConn] = connection
	if c.setup == "connection" {
		return nil
	}
	if r.vars["session"], err = connection.handshake(ctx, nil); err != nil {
		return err
	}
	if c.folder != "" {
		if err := r.prepareFolder(ctx, c.folder); err != nil {
			return err
		}
	}
	if c.origin != nil {
		return r.prepareOrigin(ctx, c.origin)
	}
	return nil
}

// errLimit is why a step is given up.
var errLimit = errors.New("the step's time is over")

// bounded returns a context that ends with the step's time.
func (r *run) bounded(ctx context.Context, s *step) (context.Context, context.CancelFunc) {
	limit := r.options.StepLimit
	switch {
	case s == nil:
	case s.action == "lapse":
		percent, _ := integer(s.fields["lapse"])
		limit += time.Duration(percent) * r.options.TTL / 100
	case s.limit > 0:
		limit = s.limit
	}
	return context.WithTimeoutCause(ctx, limit, errLimit)
}

// steps makes steps until one can't be made, and reports whether all were.
func (r *run) steps(ctx context.Context, steps []*step) bool {
	for _, s := range steps {
		r.visited[s] = true
		if r.skips(s) {
			continue
		}
		var err error
		if s.steps != nil {
			err = s.run(r, ctx, s) // each step in it has a limit of its own
		} else {
			bounded, cancel := r.bounded(ctx, s)
			err = s.run(r, bounded, s)
			cancel()
		}
		if err != nil {
			if !errors.Is(err, errNested) {
				r.fail(s, Failure{Came: err.Error()})
			}
			return false
		}
	}
	return true
}

// passive are actions that do nothing but look. Where they are not to be checked
// they are not made.
var passive = []string{"ended", "order", "answer", "ping", "notification", "outcome", "quiet", "http"}

// skips reports whether a step is not made with the peer.
func (r *run) skips(s *step) bool {
	return r.peer && s.differs != nil && s.differs.expect == nil && slices.Contains(passive, s.action)
}

// fail notes that a check has failed.
func (r *run) fail(s *step, f Failure) {
	f.Step, f.Spec = s.place, s.spec
	if f.Did == "" {
		f.Did = s.action + " " + show(s.fields[s.action])
	}
	r.failed[s]++
	if r.failed[s] > maxShownFailures {
		return // a repetition that goes wrong each time says no more by that
	}
	r.result.Failures = append(r.result.Failures, f)
}

// verify compares what came with what a step expects.
func (r *run) verify(s *step, pattern, tree any) {
	if r.peer && s.differs != nil {
		if s.differs.expect == nil {
			return
		}
		pattern = s.differs.expect
	}
	if wrong := match(pattern, tree, r.vars); len(wrong) > 0 {
		f := Failure{Expected: show(pattern), Came: show(tree)}
		for _, m := range wrong {
			f.Mismatches = append(f.Mismatches, m.String())
		}
		r.fail(s, f)
	}
}

// finish kills what the case has left running, takes away what it was given, and
// closes its connections.
func (r *run) finish(ctx context.Context, c *Case) {
	ctx, cancel := context.WithTimeout(ctx, caseGrace)
	defer cancel()
	blame := func(did, came string) {
		r.result.Failures = append(r.result.Failures, Failure{Step: "end", Spec: c.Spec, Did: did, Came: came})
	}
	var started []string
	for _, connection := range r.conns {
		started = append(started, connection.started...)
	}
	for _, name := range slices.Sorted(maps.Keys(r.conns)) {
		for _, fault := range r.conns[name].leftover() {
			blame("connection "+name, fault)
		}
		r.conns[name].kill(ctx, started)
	}
	if r.origin != nil {
		r.origin.close()
	}
	if r.folder != "" {
		if err := r.removeFolder(ctx); err != nil {
			blame("removing "+r.folder, err.Error())
		}
	}
	for _, connection := range r.conns {
		connection.cut()
	}
}

// count sums the checks up.
func (r *run) count(c *Case) {
	var visit func(steps []*step)
	visit = func(steps []*step) {
		for _, s := range steps {
			failed := min(r.failed[s], s.checks)
			switch {
			case !r.visited[s]:
				r.result.NotMade += s.checks
			case r.peer && s.differs != nil:
				r.result.Differences += s.checks - failed
				r.result.Failed += failed
			default:
				r.result.Passed += s.checks - failed
				r.result.Failed += failed
			}
			visit(s.steps)
		}
	}
	visit(c.steps)
	if len(r.result.Failures) > 0 {
		r.result.Status = Failed
		r.result.Failed = max(r.result.Failed, 1)
	}
}

// connection returns the connection that a step is about.
func (r *run) connection(s *step) (*conn, error) {
	name, _ := s.fields["on"].(string)
	if name == "" {
		name = mainConn
	}
	return r.named(name)
}

func (r *run) named(name string) (*conn, error) {
	connection, ok := r.conns[name]
	if !ok {
		return nil, fmt.Errorf("there is no connection %s", name)
	}
	return connection, nil
}

// text returns a member that is a text, with its variables.
func (r *run) text(s *step, member string) (string, error) {
	value, err := r.value(s, member)
	if err != nil {
		return "", err
	}
	text, ok := value.(string)
	if !ok {
		return "", fmt.Errorf("%s must be a text, not %s", member, show(value))
	}
	return text, nil
}

// value returns a member with its variables and what its generators make.
func (r *run) value(s *step, member string) (any, error) {
	value, err := expand(s.fields[member], r.vars)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", member, err)
	}
	return value, nil
}

package conformance

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"
)

// Options say what is run, and against which server. A zero field means its
// default.
type Options struct {
	// URL is the server's, ws://HOST:PORT or wss://HOST:PORT.
	URL string
	// Token is presented to the server, if there is one.
	Token string
	// Only is a regular expression; cases whose names it does not match are left
	// out.
	Only string
	// Peer says that the server is the Codex exec-server, or one like it: checks
	// in which that is known to differ are not held against it. Servers that do
	// not say that they are Airlock are taken for it anyway.
	Peer bool
	// Slow has cases run that wait until a session or a process is forgotten.
	Slow bool
	// TTL is how long the server keeps those. The default is 80 s.
	TTL time.Duration
	// Jobs is how many cases run side by side. The default is 8.
	Jobs int
	// StepLimit is how long one step of a case may take, unless it has a limit of
	// its own. The default is 15 s.
	StepLimit time.Duration
	// Done, if there is one, is told of each case, in the order of the suite, one
	// at a time.
	Done func(Result)
}

func (o Options) withDefaults() Options {
	if o.TTL <= 0 {
		o.TTL = 80 * time.Second
	}
	if o.Jobs <= 0 {
		o.Jobs = 8
	}
	if o.StepLimit <= 0 {
		o.StepLimit = 15 * time.Second
	}
	return o
}

// ErrUsage is wrapped by errors that better options would mend.
var ErrUsage = errors.New("usage")

// usageError is a fault in the options.
type usageError struct{ error }

func (usageError) Is(target error) bool { return target == ErrUsage }
func (e usageError) Unwrap() error      { return e.error }

// Select returns the cases whose names match a regular expression, all for "".
func (s *Suite) Select(only string) ([]*Case, error) {
	pattern, err := regexp.Compile(only)
	if err != nil {
		return nil, usageError{fmt.Errorf("the pattern of cases: %w", err)}
	}
	cases := slices.DeleteFunc(slices.Clone(s.Cases), func(c *Case) bool { return !pattern.MatchString(c.Name) })
	if len(cases) == 0 {
		return nil, usageError{fmt.Errorf("no case has a name that matches %q", only)}
	}
	return cases, nil
}

// Run runs cases against a server. An error means that they could not be run;
// whether they have passed is in the report.
func (s *Suite) Run(ctx context.Context, options Options) (Report, error) {
	began := time.Now()
	options = options.withDefaults()
	cases, err := s.Select(options.Only)
	if err != nil {
		return Report{}, err
	}
	t, err := parseTarget(options.URL, options.Token)
	if err != nil {
		return Report{}, usageError{err}
	}
	server, err := t.probe(ctx, options.StepLimit)
	if err != nil {
		return Report{}, fmt.Errorf("exec-server %s: %w", t.address, err)
	}
	report := Report{Peer: options.Peer || !server.airlock, Version: server.version, Platform: server.platform}
	if server.platform == "windows" {
		return report, fmt.Errorf("exec-server %s runs on Windows: the cases start /bin/sh, which is not there", t.address)
	}

	about := subject{serverInfo: server, peer: report.Peer}
	if slices.ContainsFunc(cases, func(c *Case) bool { return c.origin != nil }) {
		if about.reaches, err = t.reaches(ctx); err != nil {
			return report, fmt.Errorf("exec-server %s: %w", t.address, err)
		}
	}
	if slices.ContainsFunc(cases, func(c *Case) bool { return slices.Contains(c.needs, "sandbox") }) {
		if about.unconfined, err = t.confines(ctx, options.StepLimit, server); err != nil {
			return report, fmt.Errorf("exec-server %s: %w", t.address, err)
		}
	}
	results := make([]chan Result, len(cases))
	queue := make(chan int, len(cases))
	for i := range cases {
		results[i] = make(chan Result, 1)
		queue <- i
	}
	close(queue)
	for range min(options.Jobs, len(cases)) {
		go func() {
			for i := range queue {
				results[i] <- s.runOne(ctx, t, &options, about, cases[i])
			}
		}()
	}
	for i := range results { // all have come when this ends, and no job works on
		result := <-results[i]
		tally(&report, result)
		if options.Done != nil {
			options.Done(result)
		}
	}
	report.Elapsed = time.Since(began)
	return report, context.Cause(ctx)
}

// runOne runs a case, if it is one for this server.
func (s *Suite) runOne(ctx context.Context, t *target, options *Options, about subject, c *Case) Result {
	var skip string
	switch {
	case ctx.Err() != nil:
		skip = "interrupted"
	case about.peer && c.differs != nil:
		return Result{Case: c.Name, Status: Skipped, Why: "intended difference: " + c.differs.Peer, Differences: c.Checks}
	case c.slow && !options.Slow:
		skip = "slow"
	case slices.Contains(c.needs, "linux") && about.platform != "linux":
		skip = "only for Linux"
	case slices.Contains(c.needs, "token") && t.token == "":
		skip = "only for a server that wants a token"
	case slices.Contains(c.needs, "sandbox") && about.unconfined != "":
		skip = "the server can't confine a process: " + about.unconfined
	case c.origin != nil && !about.reaches:
		skip = "the server can't reach an HTTP server here on 127.0.0.1"
	default:
		return runCase(ctx, t, options, about, c)
	}
	return Result{Case: c.Name, Status: Skipped, Why: skip, NotMade: c.Checks}
}

// serverInfo is what a server says of itself.
type serverInfo struct {
	airlock           bool
	version, platform string
	tempDir           any // a URI
}

// subject is what is known of the server that cases are run against.
type subject struct {
	serverInfo
	peer    bool
	reaches bool // an origin of ours
	// unconfined is why the server can't confine processes on its host; "": it can.
	unconfined string
}

// probe asks a server what it is.
func (t *target) probe(ctx context.Context, limit time.Duration) (serverInfo, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errLimit)
	defer cancel()
	c, err := t.connect(ctx)
	if err != nil {
		return serverInfo{}, err
	}
	defer c.cut()
	reply, err := c.ask(ctx, "initialize", map[string]any{"clientName": "conformance"})
	if err != nil {
		return serverInfo{}, err
	}
	result, _ := reply.tree["result"].(map[string]any)
	info, ok := result["environmentInfo"].(map[string]any)
	if !ok {
		return serverInfo{}, fmt.Errorf("initialize was answered %s", show(reply.tree))
	}
	about := serverInfo{}
	_, about.airlock = info["airlock"]
	about.version, _ = info["executorVersion"].(string)
	about.platform, _ = info["platformOs"].(string)
	about.tempDir = info["tempDir"]
	return about, nil
}

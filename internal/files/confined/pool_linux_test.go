package confined

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/airlock-exec/airlock/internal/helper/plan"
	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/internal/sandbox"
	"github.com/airlock-exec/airlock/protocol"
)

// leaves ends before it has begun with anything.
func leaves(*actor) {}

// serves takes one operation, and calls do with its connection when it has been
// read. Then it ends.
func serves(do func(s *socket)) func(*actor) {
	return func(a *actor) {
		var b [1]byte
		if _, err := a.stdin.Read(b[:]); err != nil {
			return
		}
		fd, _ := a.stdin.take()
		s := newSocket(fd)
		defer s.Close()
		if _, _, err := s.readFrame(nil); err == nil {
			do(s)
		}
	}
}

// TestOneWorkerForEachConfinement: what comes to the same is done by the same worker.
func TestOneWorkerForEachConfinement(t *testing.T) {
	t.Parallel()
	c := &company{}
	p := newTestPool(t, c)
	one, other := folder(t), folder(t)
	for _, step := range []struct {
		what    string
		do      func()
		path    string
		workers int
	}{
		{"the first", func() {}, one, 1},
		{"the same again", func() { write(t, one+"/f", "") }, one, 1},
		{"another", func() {}, other, 2},
		{"the first again", func() {}, one, 2},
		{"one that has been replaced", func() {
			if err := errors.Join(os.RemoveAll(one), os.Rename(other, one)); err != nil {
				t.Fatal(err)
			}
		}, one, 3},
		{"one that is not there any more", func() {}, other, 4},
		{"one that is there again, maybe with the same number", func() {
			if err := os.Mkdir(other, 0o700); err != nil {
				t.Fatal(err)
			}
		}, other, 5},
	} {
		step.do()
		if err := look(t.Context(), t, p, step.path); err != nil && step.what != "one that is not there any more" {
			t.Errorf("%s: %v", step.what, err)
		}
		if n := len(c.actors()); n != step.workers {
			t.Errorf("%s: %d workers have been started, want %d", step.what, n, step.workers)
		}
	}
}

// TestReplaced: a worker that has ended is replaced, also in the middle of things, but
// no operation is begun twice.
func TestReplaced(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	ends := serves(func(*socket) {})
	begins := serves(func(s *socket) { _ = s.writeFrame(begunFrame, nil, -1) })
	const failure = "fs sandbox helper failed with status exit status: 7: it had enough"
	for name, test := range map[string]struct {
		plays  []func(*actor)
		failed bool
	}{
		"before":             {[]func(*actor){leaves}, false},
		"when it was asked":  {[]func(*actor){ends}, false},
		"twice":              {[]func(*actor){ends, leaves}, true},
		"after it has begun": {[]func(*actor){begins}, true},
	} {
		c := &company{}
		p := newTestPool(t, c, test.plays...)
		if err := look(t.Context(), t, p, dir); test.failed {
			wantError(t, name, err, protocol.CodeInternal, failure)
		} else if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		// The next one does not suffer from that.
		if err := look(t.Context(), t, p, dir); err != nil {
			t.Errorf("%s: afterwards: %v", name, err)
		}
	}
	c := &company{}
	p := newTestPool(t, c)
	for range 3 {
		if err := look(t.Context(), t, p, dir); err != nil {
			t.Error(err)
		}
		for _, a := range c.actors() {
			a.Kill()
			<-a.done
		}
	}
	if n := len(c.actors()); n != 3 {
		t.Errorf("%d workers have been started, want 3", n)
	}
}

// TestNonsense: a worker that says what makes no sense gets nothing of it to the
// client.
func TestNonsense(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	pipe := func(t *testing.T) int {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.Close(); w.Close() })
		return int(r.Fd())
	}(t)
	const undecodable = "failed to encode or decode fs sandbox helper message: "
	for name, test := range map[string]struct {
		say  func(s *socket)
		want string
	}{
		"no JSON":             {func(s *socket) { _ = s.writeFrame(resultFrame, []byte(`{`), -1) }, undecodable + "the result is no JSON object"},
		"two":                 {func(s *socket) { _ = s.writeFrame(resultFrame, []byte(`{}{}`), -1) }, undecodable + "the result is no JSON object"},
		"a number":            {func(s *socket) { _ = s.writeFrame(resultFrame, []byte(`1`), -1) }, undecodable + "the result is no JSON object"},
		"a request":           {func(s *socket) { _ = s.writeFrame(requestFrame, []byte(`{}`), -1) }, undecodable + "a frame of kind 1 is no answer"},
		"an error of no kind": {func(s *socket) { _ = s.writeFrame(errorFrame, []byte(`{}`), -1) }, undecodable + "missing field `code`"},
		"no file":             {func(s *socket) { _ = s.writeFrame(fileFrame, nil, -1) }, "fs sandbox helper did not transfer its opened file descriptor"},
		"a file":              {func(s *socket) { _ = s.writeFrame(fileFrame, nil, pipe) }, "unexpected fs sandbox helper response: expected fs/getMetadata, got another"},
		"too much":            {func(s *socket) { _ = s.write(appendHead(nil, resultFrame, limits.FileAnswerBytes+1), -1) }, "fs sandbox helper failed with status exit status: 7: it had enough"},
		"too little":          {func(s *socket) { _ = s.write(appendHead(nil, resultFrame, 9), -1) }, "fs sandbox helper failed with status exit status: 7: it had enough"},
		"something else":      {func(s *socket) { _ = s.write(appendHead(nil, 99, 0), -1) }, "fs sandbox helper failed with status exit status: 7: it had enough"},
	} {
		p := newTestPool(t, &company{}, serves(func(s *socket) {
			_ = s.writeFrame(begunFrame, nil, -1)
			test.say(s)
		}))
		wantError(t, name, look(t.Context(), t, p, dir), protocol.CodeInternal, test.want)
	}
}

// TestNoFile: what a worker hands over is given to nobody who has not asked for a
// file, and an answer without one is no file.
func TestNoFile(t *testing.T) {
	t.Parallel()
	p := newTestPool(t, &company{}, serves(func(s *socket) {
		_ = s.writeFrame(begunFrame, nil, -1)
		_ = s.writeFrame(resultFrame, []byte(`{}`), -1)
	}))
	file, err := p.Open(t.Context(), protocol.MethodReadFile, &protocol.ReadFileParams{Path: uri(t, "/"), Sandbox: within(t, "/")})
	if file != nil {
		t.Error("there is a file")
	}
	wantError(t, "no file", err, protocol.CodeInternal, "unexpected fs sandbox helper response: expected fs/readFile, got another")
}

// TestRefused: what can't be confined is not done.
func TestRefused(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	p := newTestPool(t, &company{err: protocol.Errorf(protocol.CodeInvalidRequest, "no")})
	wantError(t, "no worker", look(ctx, t, p, "/"), protocol.CodeInvalidRequest, "no")
	wantError(t, "no plan", look(ctx, t, p, "/wrong"), protocol.CodeInvalidRequest, "failed to prepare fs sandbox: it is wrong")
	if _, err := p.Append(ctx, nil, protocol.MethodGetMetadata, &protocol.GetMetadataParams{Path: uri(t, "/")}); err == nil {
		t.Error("something is done without a confinement")
	}
	none := New(Config{})
	defer none.Close()
	wantError(t, "no backend", look(ctx, t, none, "/"), protocol.CodeInvalidRequest,
		"filesystem sandbox cannot be enforced on this executor: it has no sandbox; ask for it without `sandbox`, or use an executor that has one")
	p = newTestPool(t, &company{})
	p.Close()
	wantError(t, "closed", look(ctx, t, p, "/"), protocol.CodeInternal, "the executor is shutting down")
}

// TestIdle: who has nothing to do ends, and is there again when it is needed.
func TestIdle(t *testing.T) {
	t.Parallel()
	c := &company{}
	p := newTestPool(t, c)
	p.idle = time.Millisecond
	dir := folder(t)
	for n := 1; n <= 3; n++ {
		if err := look(t.Context(), t, p, dir); err != nil {
			t.Fatal(err)
		}
		all := c.actors()
		if len(all) != n {
			t.Fatalf("%d workers have been started, want %d", len(all), n)
		}
		<-all[n-1].done
		gone(p)
	}
}

// gone waits until the pool has no workers.
func gone(p *Pool) {
	for {
		p.mu.Lock()
		alive, changed := p.alive, p.changed
		p.mu.Unlock()
		if alive == 0 {
			return
		}
		<-changed
	}
}

// TestBound: there are never more workers than there may be; the one that has been
// idle for the longest time makes room.
func TestBound(t *testing.T) {
	t.Parallel()
	c := &company{}
	p := newTestPool(t, c)
	p.most = 3
	dir := folder(t)
	paths := make([]string, 6)
	for i := range paths {
		paths[i] = dir + "/" + strconv.Itoa(i)
		write(t, paths[i], "")
		if err := look(t.Context(), t, p, paths[i]); err != nil {
			t.Fatal(err)
		}
		alive := 0
		for _, a := range c.actors() {
			select {
			case <-a.done:
			default:
				alive++
			}
		}
		if alive > p.most {
			t.Errorf("%d workers are there, at most %d should be", alive, p.most)
		}
	}
	for i, a := range c.actors() {
		select {
		case <-a.done:
			if i >= 3 {
				t.Errorf("worker %d has made room, which is not among the oldest", i)
			}
		default:
			if i < 3 {
				t.Errorf("worker %d is still there", i)
			}
		}
	}
}

// TestCrowded: who has to wait for a worker waits as long as that may take, and no
// longer than anybody is interested.
func TestCrowded(t *testing.T) {
	t.Parallel()
	begun, end := make(chan struct{}), make(chan struct{})
	c := &company{}
	p := newTestPool(t, c, serves(func(s *socket) {
		_ = s.writeFrame(begunFrame, nil, -1)
		close(begun)
		<-end
		_ = s.writeFrame(resultFrame, []byte(`{}`), -1)
	}))
	p.most, p.waiting = 1, time.Millisecond
	dir := folder(t)
	busy := make(chan error)
	go func() { busy <- look(t.Context(), t, p, dir) }()
	<-begun
	wantError(t, "another", look(t.Context(), t, p, "/"), protocol.CodeInternal,
		fmt.Sprintf("files are being worked on in %d confinements, which is as many as this executor allows; try again later", limits.FileWorkers))
	p.waiting = time.Hour
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("it has gone")
	cancel(cause)
	if err := look(ctx, t, p, "/"); !errors.Is(err, cause) {
		t.Errorf("who has gone gets %v", err)
	}
	waited := make(chan error)
	go func() { waited <- look(t.Context(), t, p, "/") }()
	close(end)
	if err := errors.Join(<-busy, <-waited); err != nil {
		t.Error(err)
	}
}

// TestGivenUp: an operation that nobody waits for any more ends; a worker that can't
// end it gets no others and is killed.
func TestGivenUp(t *testing.T) {
	t.Parallel()
	for _, heeds := range []bool{true, false} {
		begun, heard := make(chan struct{}), make(chan struct{})
		c := &company{}
		p := newTestPool(t, c, func(a *actor) {
			serves(func(s *socket) {
				_ = s.writeFrame(begunFrame, nil, -1)
				close(begun)
				if _, _, err := s.readFrame(nil); err == nil {
					t.Error("something has come")
				}
				close(heard)
				if !heeds {
					var b [1]byte
					_, _ = a.stdin.Read(b[:]) // until it is killed
				}
			})(a)
			if heeds {
				faithful(a)
			}
		})
		p.patience = time.Millisecond
		if heeds {
			p.patience = time.Hour
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		cause := errors.New("it has gone")
		dir := folder(t)
		asked := make(chan error)
		go func() { asked <- look(ctx, t, p, dir) }()
		<-begun
		cancel(cause)
		if err := <-asked; !errors.Is(err, cause) {
			t.Errorf("who has gone gets %v", err)
		}
		<-heard
		want := 1
		if !heeds {
			<-c.actors()[0].done
			want = 2
		}
		if err := look(t.Context(), t, p, dir); err != nil {
			t.Error(err)
		}
		if n := len(c.actors()); n != want {
			t.Errorf("%d workers have been started, want %d (one that heeds: %v)", n, want, heeds)
		}
	}
}

// TestCallsAtOnce: there are only so many operations at one worker.
func TestCallsAtOnce(t *testing.T) {
	t.Parallel()
	connections := make(chan *socket, 2*limits.FileWorkerCalls)
	c := &company{}
	p := newTestPool(t, c, func(a *actor) {
		var b [1]byte
		for {
			if _, err := a.stdin.Read(b[:]); err != nil {
				return
			}
			fd, _ := a.stdin.take()
			connections <- newSocket(fd)
		}
	})
	dir := folder(t)
	const more = 5
	answers := make(chan error)
	for range limits.FileWorkerCalls + more {
		go func() { answers <- look(t.Context(), t, p, dir) }()
	}
	finish := func(s *socket) {
		defer s.Close()
		if _, _, err := s.readFrame(nil); err != nil {
			t.Error(err)
		}
		_ = s.writeFrame(begunFrame, nil, -1)
		_ = s.writeFrame(resultFrame, []byte(`{}`), -1)
	}
	held := make([]*socket, limits.FileWorkerCalls)
	for i := range held {
		held[i] = <-connections
	}
	if len(connections) > 0 {
		t.Error("there are more operations than there may be")
	}
	for _, s := range held {
		finish(s)
	}
	for range more {
		finish(<-connections)
	}
	for range limits.FileWorkerCalls + more {
		if err := <-answers; err != nil {
			t.Error(err)
		}
	}
}

// TestLarge: an answer may be large, and comes whole.
func TestLarge(t *testing.T) {
	t.Parallel()
	result := `{"x":"` + strings.Repeat("x", 3<<20) + `"}`
	p := newTestPool(t, &company{}, serves(func(s *socket) {
		_ = s.writeFrame(begunFrame, nil, -1)
		_ = s.writeFrame(resultFrame, []byte(result), -1)
	}))
	got, err := p.Append(t.Context(), nil, protocol.MethodGetMetadata, &protocol.GetMetadataParams{Path: uri(t, "/"), Sandbox: within(t, "/")})
	if err != nil || string(got) != result {
		t.Errorf("%d bytes have come, want %d (%v)", len(got), len(result), err)
	}
}

// TestFleeting: what is put on the host for the sake of a worker is gone with the
// answer. For what only looks nothing is put there, and the worker stays.
func TestFleeting(t *testing.T) {
	t.Parallel()
	c := &company{}
	p := newTestPool(t, c)
	dir := folder(t) + "/pointed"
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		params := &protocol.CreateDirectoryParams{Path: uri(t, dir+"/"+strconv.Itoa(i)), Sandbox: within(t, dir)}
		if _, err := p.Append(t.Context(), nil, protocol.MethodCreateDirectory, params); err != nil {
			t.Fatal(err)
		}
		if all := c.actors(); len(all) != i+1 {
			t.Errorf("%d workers have been started, want %d", len(all), i+1)
		}
		select {
		case <-c.actors()[i].done:
		default:
			t.Error("the worker is still there")
		}
	}
	for range 3 {
		if err := look(t.Context(), t, p, dir); err != nil {
			t.Error(err)
		}
	}
	if n := len(c.actors()); n != 4 {
		t.Errorf("%d workers have been started, want 4", n)
	}
}

// TestLooking: who only looks can write nowhere, and sees what the plan lets him.
func TestLooking(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	there, missing := write(t, dir+"/empty", ""), dir+"/missing"
	p := &sandbox.Plan{
		Base: plan.Writable,
		Mounts: []plan.Mount{
			{Kind: plan.BindWritable, Path: dir},
			{Kind: plan.BindReadOnly, Path: "/etc"},
			{Kind: plan.CoverFile, Path: there},
			{Kind: plan.CoverDirectory, Path: missing, Mode: 0o555},
		},
		Points:   []sandbox.Point{{Path: there}, {Path: missing, Directory: true}},
		Readable: []string{"/etc"}, Writable: []string{dir}, Denied: []string{there},
	}
	before := fmt.Sprintf("%+v", p)
	got := looking(p)
	if after := fmt.Sprintf("%+v", p); after != before {
		t.Errorf("the plan has become %s, it was %s", after, before)
	}
	want := &sandbox.Plan{
		Base: plan.ReadOnly,
		Mounts: []plan.Mount{
			{Kind: plan.BindReadOnly, Path: dir},
			{Kind: plan.BindReadOnly, Path: "/etc"},
			{Kind: plan.CoverFile, Path: there},
		},
		Readable: []string{"/etc", dir}, Denied: []string{there},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestEras: what is mounted anew makes what is older useless.
func TestEras(t *testing.T) {
	t.Parallel()
	var e eras
	defer e.close()
	first := e.now()
	dir := folder(t)
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=4k"); err != nil {
		t.Skipf("nothing can be mounted here: %v", err)
	}
	second := e.now()
	if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
		t.Error(err)
	}
	if third := e.now(); first == second || second == third {
		t.Errorf("eras are %d, %d and %d", first, second, third)
	}
}

package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/airlock-exec/airlock/internal/rpc"
	"github.com/airlock-exec/airlock/internal/transport"
	"github.com/airlock-exec/airlock/protocol"
)

// fake is an executor with one session, whose processes do what a test says.
type fake struct {
	t       *testing.T
	serving sync.WaitGroup
	files   *fakeFiles

	mu       sync.Mutex
	features []string // none: not an Airlock
	attached *fakeLink
	changed  news // something has happened
	procs    map[string]*fakeProcess
	asked    []string                    // the methods of all requests
	opened   []protocol.InitializeParams // of all connections
	reads    []protocol.ReadParams
	// refuse, if set, may answer an initialize with an error.
	refuse func(*protocol.InitializeParams) error
	// before and after, if set, are called around what a request does; what
	// they return as true cuts the connection in place of going on.
	before, after func(method string) (cut bool)
	unreachable   bool
}

// fakeProcess is a process of a fake. Its log is what really happened.
type fakeProcess struct {
	id       string
	log      []item
	evicted  uint64 // numbers up to this one can't be read any more
	dropped  map[protocol.Stream]uint64
	starting bool
	writes   map[string]string // by write id
	input    string
	kills    int
	signals  int
}

func newFake(t *testing.T, features ...string) *fake {
	f := &fake{t: t, features: features, procs: map[string]*fakeProcess{}, files: newFakeFiles()}
	t.Cleanup(f.serving.Wait)
	return f
}

var pacing = []string{protocol.FeatureProcessWindow, protocol.FeatureTakeover, protocol.FeatureCloseStdin}

var errUnreachable = errors.New("unreachable")

// Connect implements [Connector].
func (f *fake) Connect(context.Context) (transport.Conn, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.unreachable {
		return nil, errUnreachable
	}
	ours, theirs := transport.Pair()
	l := &fakeLink{fake: f, conn: ours, sent: map[string]uint64{}, credit: map[string]int64{}}
	l.rpc = rpc.New(ours, l, rpc.Config{Concurrency: 100, Calls: 1, DrainTimeout: time.Second})
	f.serving.Go(func() { _ = l.rpc.Serve(context.Background()) })
	return remote{theirs}, nil
}

// remote is a connection whose end does not tell why.
type remote struct{ transport.Conn }

var errCut = errors.New("cut")

func (r remote) Read() ([]byte, error) {
	data, err := r.Conn.Read()
	if err != nil {
		err = fmt.Errorf("%w: %w", err, errCut)
	}
	return data, err
}

// cut ends the connection.
func (f *fake) cut() {
	f.mu.Lock()
	l := f.attached
	f.attached = nil
	f.mu.Unlock()
	if l != nil {
		l.rpc.Close(errCut)
	}
}

// process adds a process that runs.
func (f *fake) process(id string) *fakeProcess {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.processLocked(id)
}

func (f *fake) processLocked(id string) *fakeProcess {
	p := &fakeProcess{id: id, dropped: map[protocol.Stream]uint64{}, writes: map[string]string{}}
	f.procs[id] = p
	return p
}

// happen adds events to a process and tells of them.
func (f *fake) happen(p *fakeProcess, events ...Event) {
	f.mu.Lock()
	for _, e := range events {
		e.Seq = uint64(len(p.log)) + 1
		p.log = append(p.log, numbered(e, nil))
	}
	f.changed.tell()
	l := f.attached
	f.mu.Unlock()
	if l == nil {
		return
	}
	if f.paces() {
		l.pump(p)
		return
	}
	for _, i := range p.log[len(p.log)-len(events):] {
		l.notify(p, i.Event, nil)
	}
}

// quietly adds events that nobody is told of.
func (f *fake) quietly(p *fakeProcess, events ...Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range events {
		e.Seq = uint64(len(p.log)) + 1
		p.log = append(p.log, numbered(e, nil))
	}
	f.changed.tell()
	if l := f.attached; l != nil {
		l.sent[p.id] = uint64(len(p.log))
	}
}

// tell sends a notification of an event that has happened.
func (f *fake) tell(p *fakeProcess, seq uint64) {
	f.mu.Lock()
	l, e := f.attached, p.log[seq-1].Event
	f.mu.Unlock()
	if l != nil {
		l.notify(p, e, nil)
	}
}

// evict forgets output up to a number.
func (f *fake) evict(p *fakeProcess, upTo uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for ; p.evicted < min(upTo, uint64(len(p.log))); p.evicted++ {
		if e := p.log[p.evicted]; e.Kind == Output {
			p.dropped[e.Stream] += uint64(len(e.Data))
		}
	}
}

func (f *fake) paces() bool { return slices.Contains(f.features, protocol.FeatureProcessWindow) }

// calls returns how often a method was asked for.
func (f *fake) calls(method string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, m := range f.asked {
		if m == method {
			n++
		}
	}
	return n
}

// gap tells what is missing after a number, if anything is.
func (p *fakeProcess) gap(after uint64) (first uint64, dropped map[protocol.Stream]uint64) {
	lost := uint64(0)
	for _, i := range p.log[:p.evicted] {
		if i.Kind == Output {
			lost = i.last
		}
	}
	if after >= lost {
		return 0, nil
	}
	first = uint64(len(p.log)) + 1
	for _, i := range p.log[p.evicted:] {
		if i.Kind == Output {
			first = i.last
			break
		}
	}
	dropped = map[protocol.Stream]uint64{}
	for _, i := range p.log[:p.evicted] {
		if i.Kind == Output {
			dropped[i.Stream] += uint64(len(i.Data))
		}
	}
	return first, dropped
}

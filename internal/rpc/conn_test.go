package rpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/goleak"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/internal/transport"
	"github.com/airlock-exec/airlock/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// scripted is a transport that a test feeds and reads.
type scripted struct {
	in     chan string // to Read; closing it is an end of input
	out    chan string // from Write
	done   chan struct{}
	once   sync.Once
	reason error
	taken  atomic.Uint64 // messages
}

func newScripted() *scripted {
	return &scripted{in: make(chan string, 200_000), out: make(chan string), done: make(chan struct{})}
}

func (s *scripted) Read() ([]byte, error) {
	select {
	case m, ok := <-s.in:
		if !ok {
			return nil, io.EOF
		}
		return []byte(m), nil
	case <-s.done:
		return nil, transport.ErrClosed
	}
}

func (s *scripted) Write(batch [][]byte) error {
	for _, m := range batch {
		select {
		case s.out <- string(m):
			s.taken.Add(1)
		case <-s.done:
			return transport.ErrClosed
		}
	}
	return nil
}

func (s *scripted) Progress() uint64      { return s.taken.Load() }
func (s *scripted) Probe()                {}
func (s *scripted) Close(reason error)    { s.once.Do(func() { s.reason = reason; close(s.done) }) }
func (s *scripted) Done() <-chan struct{} { return s.done }
func (s *scripted) Origin() string        { return "JSON-RPC message from test" }

// testHandler answers "echo" with its parameters at once, "slow" when release
// is closed, "park" likewise but without holding its place.
type testHandler struct {
	release     chan struct{}
	handshaking bool
	notified    []string
	gone        int

	mu    sync.Mutex
	begun []string
}

func (h *testHandler) Handshaking(string) bool { return h.handshaking }

func (h *testHandler) Lane(method string) Lane {
	switch method {
	case "echo", "slow", "park", "parkOrFull", "sent":
		return LaneOrdinary
	case "control":
		return LaneControl
	}
	return LaneNone
}

func (h *testHandler) Begin(_ context.Context, r Request) Reply {
	h.mu.Lock()
	h.begun = append(h.begun, r.Method+string(r.Params))
	h.mu.Unlock()
	params := r.Params.Clone() // for after this has returned
	wait := func(ctx context.Context) Reply {
		select {
		case <-h.release:
			return Reply{Result: params}
		case <-r.Hurry:
			return Reply{Result: "hurried"}
		case <-ctx.Done():
			return Reply{Err: context.Cause(ctx)}
		}
	}
	switch r.Method {
	case "echo", "control":
		return Reply{Result: params}
	case "slow":
		return Reply{Wait: wait}
	case "park":
		return Reply{Wait: wait, Parked: true}
	case "parkOrFull":
		return Reply{Wait: wait, Parked: true, Full: func() Reply { return Reply{Result: "full"} }}
	}
	return Reply{Err: protocol.Errorf(protocol.CodeMethodNotFound, "no %s", r.Method)}
}

func (h *testHandler) Notification(_ context.Context, method string, _ jsontext.Value) error {
	if method == "bad" {
		return transport.ErrViolation
	}
	h.notified = append(h.notified, method)
	h.handshaking = false
	return nil
}

func (h *testHandler) Gone() { h.gone++ }

// rig is a connection under test.
type rig struct {
	*testing.T
	*scripted
	h    *testHandler
	conn *Conn
	over chan error
}

func newRig(t *testing.T, concurrency int) *rig {
	r := &rig{T: t, scripted: newScripted(), h: &testHandler{release: make(chan struct{})}, over: make(chan error, 1)}
	r.conn = New(r.scripted, r.h, Config{Concurrency: concurrency, Calls: limits.CallsInFlight, DrainTimeout: 2 * time.Second})
	return r
}

func (r *rig) serve() *rig {
	go func() { r.over <- r.conn.Serve(context.Background()) }()
	return r
}

func (r *rig) send(messages ...string) {
	for _, m := range messages {
		r.in <- m
	}
}

func request(id any, method string) string {
	return fmt.Sprintf(`{"id":%v,"method":"%s","params":%v}`, id, method, id)
}

// want reads answers and checks them, in order.
func (r *rig) want(messages ...string) {
	r.Helper()
	for _, want := range messages {
		select {
		case got := <-r.out:
			if got != want {
				r.Errorf("got  %s\nwant %s", got, want)
			}
		case <-time.After(time.Hour):
			r.Errorf("nothing came, want %s", want)
		}
	}
}

func (r *rig) silence() {
	r.Helper()
	synctest.Wait()
	select {
	case got := <-r.out:
		r.Errorf("unexpected %s", got)
	default:
	}
}

func (r *rig) end() error {
	r.Helper()
	r.conn.Close(transport.ErrClosed)
	err := <-r.over
	if r.h.gone != 1 {
		r.Errorf("Gone was called %d times", r.h.gone)
	}
	return err
}

func result(id any) string { return fmt.Sprintf(`{"id":%v,"result":%v}`, id, id) }

func TestSequential(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1).serve()
		r.send(request(1, "slow"), request(2, "echo"), `{bad`, request(3, "none"), request(4, "control"))
		r.silence() // behind the slow one, each of them
		close(r.h.release)
		r.want(result(1), result(2),
			"{\"error\":{\"code\":-32600,\"message\":\"failed to parse JSON-RPC message from test: "+parseText(`{bad`)+"\"},\"id\":-1}",
			`{"error":{"code":-32601,"message":"no none"},"id":3}`, result(4))
		r.end()
	})
}

func parseText(text string) string {
	_, err := Parse([]byte(text))
	return strings.ReplaceAll(err.Error(), `"`, `\"`)
}

// TestParkedRequestsHoldUpNobody, at a concurrency of one too.
func TestParkedRequestsHoldUpNobody(t *testing.T) {
	for _, concurrency := range []int{1, 2} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, concurrency).serve()
			for id := range 5 {
				r.send(request(id, "park"))
			}
			r.send(request(7, "echo"), request(8, "control"))
			got := map[string]bool{<-r.out: true, <-r.out: true}
			if !got[result(7)] || !got[result(8)] {
				t.Errorf("got %v", got)
			}
			r.silence()
			close(r.h.release)
			for range 5 {
				<-r.out
			}
			r.end()
		})
	}
}

func TestParkedRequestsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1).serve()
		for id := range limits.ParkedRequests + 1 {
			r.send(request(id, "park"))
		}
		r.send(request(-5, "echo"))
		r.silence() // the one too many holds its place
		close(r.h.release)
		for range limits.ParkedRequests + 2 {
			<-r.out
		}
		r.end()
	})
}

// TestParkedInFull: what finds no place may have an answer for that, and then holds
// up nobody.
func TestParkedInFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1).serve()
		for id := range limits.ParkedRequests {
			r.send(request(id, "park"))
		}
		r.send(request(-5, "parkOrFull"), request(-6, "echo"))
		if got, want := <-r.out, `{"id":-5,"result":"full"}`; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if got := <-r.out; got != result(-6) {
			t.Errorf("got %s", got)
		}
		close(r.h.release)
		for range limits.ParkedRequests {
			<-r.out
		}
		r.end()
	})
}

func TestLanes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 2).serve()
		r.send(request(1, "slow"), request(2, "slow"), request(3, "echo"), request(4, "control"), request(5, "none"))
		// The ordinary lane is full; the others are not.
		got := map[string]bool{<-r.out: true, <-r.out: true}
		if !got[result(4)] || !got[`{"error":{"code":-32601,"message":"no none"},"id":5}`] {
			t.Errorf("got %v", got)
		}
		r.silence()
		close(r.h.release)
		for range 3 {
			<-r.out
		}
		r.end()
		if got := strings.Join(r.h.begun, " "); !strings.Contains(got, "slow1") ||
			strings.Index(got, "slow1") > strings.Index(got, "slow2") || strings.Index(got, "slow2") > strings.Index(got, "echo3") {
			t.Errorf("begun out of order: %s", got)
		}
	})
}

// TestPipelining: any number of requests is answered, as long as the answers
// are read; nobody has to wait for them before sending on.
func TestPipelining(t *testing.T) {
	for _, concurrency := range []int{1, 8} {
		t.Run(fmt.Sprint(concurrency), func(t *testing.T) {
			r := newRig(t, concurrency).serve()
			const count = 100_000
			for id := range count {
				r.send(request(id, "echo"))
			}
			for id := range count {
				if got := <-r.out; concurrency == 1 && got != result(id) {
					t.Fatalf("answer %d is %s", id, got)
				}
			}
			if err := r.end(); !errors.Is(err, transport.ErrClosed) {
				t.Error(err)
			}
		})
	}
}

// TestAnswersGather: while more requests wait, their answers are not written one by
// one; and no answer waits for the next one.
func TestAnswersGather(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1).serve()
		r.send(request(1, "slow"), request(2, "echo"), request(3, "echo"), request(4, "slow"), request(5, "echo"))
		synctest.Wait()
		r.h.release <- struct{}{}
		synctest.Wait() // nothing is taken, and so the first write has no end
		if got, want := strings.Join(r.h.begun, " "), "slow1 echo2 echo3 slow4"; got != want {
			t.Errorf("begun are %s, want %s", got, want)
		}
		r.want(result(1), result(2), result(3))
		r.silence()
		r.h.release <- struct{}{}
		r.want(result(4), result(5))
		r.end()
	})
}

// TestReadingStops: a client that reads no answers can't make requests pile up.
func TestReadingStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1).serve()
		big := fmt.Sprintf(`{"id":1,"method":"echo","params":"%s"}`, strings.Repeat("x", 64<<10))
		const count = 600
		for range count {
			r.send(big)
		}
		synctest.Wait()
		taken := count - len(r.in)
		if most := (limits.QueuedRequestBytes+2*limits.OutgoingBytes)/len(big) + 10; taken > most {
			t.Errorf("took %d requests, at most %d fit", taken, most)
		}
		for range count {
			<-r.out
		}
		r.end()
	})
}

func TestQueueIsBoundedInNumber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1).serve()
		const count = 3 * limits.QueuedRequests
		for id := range count {
			r.send(request(id, "slow"))
		}
		synctest.Wait()
		if taken := count - len(r.in); taken > limits.QueuedRequests+2 {
			t.Errorf("took %d requests", taken)
		}
		r.end()
	})
}

func TestHandshakeIsSequential(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 8)
		r.h.handshaking = true
		r.serve()
		r.send(request(1, "slow"), request(2, "control"), `{"method":"ready"}`, request(3, "echo"))
		r.silence()
		close(r.h.release)
		r.want(result(1), result(2), result(3))
		r.end()
	})
}

// TestViolation: what was asked before a violation is answered, then the
// connection ends.
func TestViolation(t *testing.T) {
	for name, violation := range map[string]string{
		"notification":     `{"method":"bad"}`,
		"unknown response": `{"id":77,"result":{}}`,
		"unknown error":    `{"id":77,"error":{"code":1,"message":"m"}}`,
		"string id":        `{"id":"1","result":{}}`,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, 1).serve()
				r.send(request(1, "echo"), request(2, "park"), violation, request(3, "echo"))
				r.want(result(1), `{"id":2,"result":"hurried"}`)
				if err := <-r.over; !errors.Is(err, transport.ErrViolation) {
					t.Error(err)
				}
				if !errors.Is(r.reason, transport.ErrViolation) {
					t.Errorf("closed with %v", r.reason)
				}
			})
		})
	}
}

func TestEndOfInputAnswersWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1).serve()
		r.send(request(1, "park"), request(2, "slow"), request(3, "echo"))
		close(r.in)
		got := map[string]bool{<-r.out: true, <-r.out: true, <-r.out: true}
		if !got[`{"id":1,"result":"hurried"}`] || !got[`{"id":2,"result":"hurried"}`] || !got[result(3)] {
			t.Errorf("got %v", got)
		}
		if err := <-r.over; err != nil {
			t.Error(err)
		}
	})
}

func TestEndOfInputDoesNotWaitForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1).serve()
		r.send(request(1, "echo"))
		close(r.in)
		began := time.Now()
		if err := <-r.over; err != nil || time.Since(began) != 2*time.Second {
			t.Errorf("ended after %v with %v", time.Since(began), err)
		}
	})
}

func TestContextEndsTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { r.over <- r.conn.Serve(ctx) }()
		r.send(request(1, "park"), request(2, "slow"))
		synctest.Wait()
		cancel()
		if err := <-r.over; err == nil {
			t.Error("no error")
		}
	})
}

// TestSent: called after the answer, and also when it can't be given.
func TestSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sent := make(chan string, 2)
		h := &sentHandler{testHandler: &testHandler{release: make(chan struct{})}, sent: sent}
		s := newScripted()
		c := New(s, h, Config{Concurrency: 1})
		over := make(chan error, 1)
		go func() { over <- c.Serve(t.Context()) }()
		s.in <- request(1, "sent")
		<-s.out
		<-sent
		s.in <- request(2, "sent")
		synctest.Wait()
		s.Close(nil)
		<-over
		<-sent
	})
}

type sentHandler struct {
	*testHandler
	sent chan string
}

func (h *sentHandler) Begin(_ context.Context, r Request) Reply {
	return Reply{Result: 1, Sent: func() { h.sent <- string(r.Params) }}
}

func TestCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1).serve()
		type outcome struct {
			value jsontext.Value
			err   error
		}
		call := func(ctx context.Context) <-chan outcome {
			done := make(chan outcome, 1)
			go func() {
				v, err := r.conn.Call(ctx, "ask", map[string]int{"n": 1})
				done <- outcome{v, err}
			}()
			return done
		}
		// An answer is handled at once, also behind a request that blocks.
		r.send(request(1, "slow"))
		first := call(t.Context())
		r.want(`{"id":1,"method":"ask","params":{"n":1}}`)
		r.send(`{"id":1,"result":{"ok":true}}`)
		if got := <-first; got.err != nil || string(got.value) != `{"ok":true}` {
			t.Errorf("%s, error %v", got.value, got.err)
		}

		refused := call(t.Context())
		r.want(`{"id":2,"method":"ask","params":{"n":1}}`)
		r.send(`{"id":2,"error":{"code":-5,"message":"no"}}`)
		if e, ok := errors.AsType[*protocol.Error]((<-refused).err); !ok || e.Code != -5 {
			t.Errorf("got %v", e)
		}

		// A late answer is ignored, a second one is a violation.
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		late := call(ctx)
		r.want(`{"id":3,"method":"ask","params":{"n":1}}`)
		if got := <-late; !errors.Is(got.err, context.DeadlineExceeded) {
			t.Errorf("got %v", got.err)
		}
		r.send(`{"id":3,"result":{}}`)
		r.silence()

		waiting := call(t.Context())
		<-r.out
		r.end()
		if got := <-waiting; !errors.Is(got.err, transport.ErrClosed) {
			t.Errorf("got %v", got.err)
		}
		if got := <-call(t.Context()); !errors.Is(got.err, transport.ErrClosed) {
			t.Errorf("got %v", got.err)
		}
	})
}

func TestCallsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1).serve()
		ctx, cancel := context.WithCancel(t.Context())
		var calls sync.WaitGroup
		for range limits.CallsInFlight {
			calls.Go(func() { _, _ = r.conn.Call(ctx, "ask", nil) })
			<-r.out
		}
		if _, err := r.conn.Call(ctx, "ask", nil); !errors.Is(err, ErrTooManyCalls) {
			t.Errorf("got %v", err)
		}
		cancel()
		calls.Wait()
		// Of the calls given up, the newest are remembered.
		for range limits.LateCallIDs {
			go func() { <-r.out }()
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			_, _ = r.conn.Call(ctx, "ask", nil)
		}
		r.send(fmt.Sprintf(`{"id":%d,"result":1}`, limits.CallsInFlight+1))
		r.silence()
		r.send(`{"id":1,"result":1}`)
		if err := <-r.over; !errors.Is(err, transport.ErrViolation) {
			t.Error(err)
		}
	})
}

// TestStalledPeer: what is queued for a peer that does not read is bounded, and
// the end of the connection frees whoever waits.
func TestStalledPeer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1).serve()
		queued := 0
		var failed error
		go func() {
			for failed == nil {
				failed = r.conn.Notify(func(dst []byte) []byte { return append(dst, make([]byte, 64<<10)...) })
				queued++
			}
		}()
		synctest.Wait()
		if queued > limits.OutgoingBytes/(64<<10) {
			t.Errorf("%d messages are queued", queued)
		}
		r.end()
		synctest.Wait()
		if failed == nil {
			t.Error("still waiting")
		}
	})
}

// TestLargeAnswerIsNotStarved: however busy the queue is, a message larger than
// its bound gets its turn.
func TestLargeAnswerIsNotStarved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1).serve()
		go func() { // as the pump of a busy process
			for r.conn.Notify(func(dst []byte) []byte { return append(dst, make([]byte, 64<<10)...) }) == nil {
			}
		}()
		synctest.Wait()
		big := strings.Repeat("x", 2*limits.OutgoingBytes)
		r.send(fmt.Sprintf(`{"id":1,"method":"echo","params":"%s"}`, big))
		synctest.Wait() // it is in line
		for range 100 {
			if len(<-r.out) > len(big) {
				r.end()
				return
			}
			synctest.Wait() // whose turn it is has had time to take it
		}
		t.Error("the answer did not come")
		r.end()
	})
}

// TestEndIsSeenWhileReadingIsStopped: a connection that has ended does not last
// because nothing is read from it any more.
func TestEndIsSeenWhileReadingIsStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1).serve()
		for id := range 3 * limits.QueuedRequests {
			r.send(request(id, "slow"))
		}
		synctest.Wait()
		r.scripted.Close(nil) // the transport has found the peer to be gone
		<-r.over
	})
}

// TestParkedAnswersAreMadeInTurn: what takes memory is done for few at a time.
func TestParkedAnswersAreMadeInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &collectHandler{testHandler: &testHandler{release: make(chan struct{})}, collect: make(chan struct{})}
		s := newScripted()
		c := New(s, h, Config{Concurrency: 1})
		over := make(chan error, 1)
		go func() { over <- c.Serve(t.Context()) }()
		const count = 100
		for id := range count {
			s.in <- request(id, "park")
		}
		synctest.Wait()
		close(h.release)
		synctest.Wait()
		if n := h.collecting.Load(); n != limits.ParkedAnswers {
			t.Errorf("%d at the same time", n)
		}
		close(h.collect)
		for range count {
			<-s.out
		}
		c.Close(transport.ErrClosed)
		<-over
	})
}

// collectHandler has requests that wait and then take memory.
type collectHandler struct {
	*testHandler
	collect    chan struct{}
	collecting atomic.Int64
}

func (h *collectHandler) Begin(context.Context, Request) Reply {
	return Reply{Parked: true, Wait: func(context.Context) Reply {
		<-h.release
		return Reply{Wait: func(context.Context) Reply {
			h.collecting.Add(1)
			<-h.collect
			return Reply{Result: 1}
		}}
	}}
}

// TestParkedBytesAreBounded: what waits beside its lane may hold so much, and
// what does not fit waits in the lane.
func TestParkedBytesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1).serve()
		half := strings.Repeat("x", limits.ParkedRequestBytes/2-100)
		for id := 1; id <= 3; id++ {
			if id == 3 {
				r.send(request(10, "echo"))
				r.want(result(10)) // two are parked and hold up nobody
			}
			r.send(fmt.Sprintf(`{"id":%d,"method":"park","params":"%s"}`, id, half))
		}
		r.send(request(11, "echo"))
		r.silence()
		close(r.h.release)
		for range 4 {
			<-r.out
		}
		r.end()
	})
}

// TestPauseDoesNotLast: a connection from which nothing can be read for long is
// closed, or nobody could see that the peer is gone.
func TestPauseDoesNotLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1).serve()
		for id := range 3 * limits.QueuedRequests {
			r.send(request(id, "slow"))
		}
		began := time.Now()
		<-r.over
		if took := time.Since(began); took != limits.PauseTimeout {
			t.Errorf("closed after %v", took)
		}
		if !errors.Is(r.reason, errPaused) {
			t.Errorf("closed with %v", r.reason)
		}
	})
}

// TestCallEndsWithItsContext, also when the peer does not read.
func TestCallEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1).serve()
		go func() {
			for r.conn.Notify(func(dst []byte) []byte { return append(dst, make([]byte, 64<<10)...) }) == nil {
			}
		}()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := r.conn.Call(ctx, "ask", nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		r.end()
	})
}

func TestConcurrencyIsBounded(t *testing.T) {
	for asked, want := range map[int]int{-1: 1, 0: 1, 2: 2, limits.ConcurrentRequests + 1: limits.ConcurrentRequests} {
		if c := New(newScripted(), &testHandler{}, Config{Concurrency: asked}); c.config.Concurrency != want {
			t.Errorf("%d asked for: %d", asked, c.config.Concurrency)
		}
	}
}

package client

import (
	"context"
	"slices"
	"time"

	"github.com/airlock-exec/airlock/internal/rpc"
	"github.com/airlock-exec/airlock/protocol"
)

const fakeSession = "the-session"

// pump sends what the window allows for.
func (l *fakeLink) pump(p *fakeProcess) {
	for {
		l.fake.mu.Lock()
		sent, known := l.sent[p.id]
		if !known || sent >= uint64(len(p.log)) || l.fake.attached != l {
			l.fake.mu.Unlock()
			return
		}
		i := p.log[sent]
		var extra *protocol.EventExtra
		for i.Kind == Output && i.last <= p.evicted && i.last < uint64(len(p.log)) {
			i = p.log[i.last]
		}
		if i.last > sent+1 {
			if first, dropped := p.gap(sent); dropped != nil {
				extra = &protocol.EventExtra{FirstSeq: min(first, i.last), DroppedBytes: dropped}
			}
		}
		if i.Kind == Output && (l.credit[p.id] <= 0 || i.last <= p.evicted) {
			l.fake.mu.Unlock()
			return
		}
		l.credit[p.id] -= int64(len(i.Data))
		l.sent[p.id] = i.last
		l.fake.mu.Unlock()
		l.notify(p, i.Event, extra)
	}
}

// Begin implements rpc.Handler.
func (l *fakeLink) Begin(_ context.Context, r rpc.Request) rpc.Reply {
	f := l.fake
	f.mu.Lock()
	f.asked = append(f.asked, r.Method)
	before, after := f.before, f.after
	f.mu.Unlock()
	if before != nil && before(r.Method) {
		f.cut()
		return rpc.Reply{Err: errCut}
	}
	reply := l.do(r)
	if after != nil && after(r.Method) {
		f.cut()
	}
	return reply
}

func (l *fakeLink) do(r rpc.Request) rpc.Reply {
	switch r.Method {
	case protocol.MethodInitialize:
		return answer(r, l.initialize)
	case protocol.MethodEnvironmentStatus:
		return rpc.Reply{Result: &protocol.EnvironmentStatus{Status: protocol.StatusReady}}
	case protocol.MethodProcessStart:
		return answer(r, l.start)
	case protocol.MethodProcessRead:
		return l.fake.poll(r)
	case protocol.MethodProcessWrite:
		return answer(r, l.fake.write)
	case protocol.MethodProcessSignal:
		return answer(r, l.fake.signal)
	case protocol.MethodProcessTerminate:
		return answer(r, l.fake.terminate)
	}
	return l.fake.files.do(l, r)
}

func answer[P, R any](r rpc.Request, do func(*P) (*R, error)) rpc.Reply {
	params, err := protocol.Decode[P](r.Params)
	if err != nil {
		return rpc.Reply{Err: err}
	}
	result, err := do(&params)
	if err != nil {
		return rpc.Reply{Err: err}
	}
	return rpc.Reply{Result: result}
}

func (l *fakeLink) initialize(params *protocol.InitializeParams) (*protocol.InitializeResult, error) {
	f := l.fake
	f.mu.Lock()
	defer f.mu.Unlock()
	f.opened = append(f.opened, *params)
	if f.refuse != nil {
		if err := f.refuse(params); err != nil {
			return nil, err
		}
	}
	f.attached = l
	for id, p := range f.procs {
		l.sent[id] = uint64(len(p.log))
		l.credit[id] = int64(params.Airlock.Window)
	}
	l.window = params.Airlock.Window
	info := protocol.EnvironmentInfo{
		PrependPathDirs: []protocol.PathURI{}, TemporaryDirectories: []protocol.PathURI{},
	}
	info.TempDir, _ = protocol.ParsePathURI("file:///tmp")
	info.PlatformOS = "linux"
	info.Capabilities.FileWriteStreaming, info.Capabilities.FSWatchMissing = true, true
	if f.features != nil {
		info.Airlock = &protocol.AirlockInfo{Version: "test", Features: f.features}
	}
	return &protocol.InitializeResult{SessionID: fakeSession, EnvironmentInfo: info}, nil
}

func (l *fakeLink) start(params *protocol.StartParams) (*protocol.StartResult, error) {
	f := l.fake
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.procs[params.ProcessID] != nil {
		return nil, protocol.Errorf(protocol.CodeInvalidRequest, "process %s already exists", params.ProcessID)
	}
	f.processLocked(params.ProcessID)
	l.sent[params.ProcessID] = 0
	l.credit[params.ProcessID] = int64(l.window)
	return &protocol.StartResult{ProcessID: params.ProcessID, SandboxType: new(protocol.SandboxNone)}, nil
}

// poll answers a read as the executors do: when there is something to tell.
func (f *fake) poll(r rpc.Request) rpc.Reply {
	params, err := protocol.Decode[protocol.ReadParams](r.Params)
	if err != nil {
		return rpc.Reply{Err: err}
	}
	if params.WaitMs == nil {
		return answer(r, f.read)
	}
	return rpc.Reply{Parked: true, Wait: func(ctx context.Context) rpc.Reply {
		timer := time.NewTimer(time.Duration(*params.WaitMs) * time.Millisecond)
		defer timer.Stop()
		for {
			f.mu.Lock()
			change := f.changed.wait()
			f.mu.Unlock()
			result, err := f.read(&params)
			if err != nil || len(result.Chunks) > 0 || result.Closed || result.Exited && *params.AfterSeq < result.NextSeq-1 {
				return rpc.Reply{Result: result, Err: err}
			}
			select {
			case <-change:
			case <-timer.C:
				return rpc.Reply{Result: result}
			case <-ctx.Done():
				return rpc.Reply{Err: context.Cause(ctx)}
			}
		}
	}}
}

func (f *fake) read(params *protocol.ReadParams) (*protocol.ReadResult, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reads = append(f.reads, *params)
	p := f.procs[params.ProcessID]
	switch {
	case p == nil:
		return nil, protocol.Errorf(protocol.CodeInvalidRequest, "unknown process id %s", params.ProcessID)
	case p.starting:
		return nil, protocol.Errorf(protocol.CodeInvalidRequest, "process id %s is starting", params.ProcessID)
	}
	r := &protocol.ReadResult{NextSeq: uint64(len(p.log)) + 1}
	total := uint64(0)
	full := false
	for _, i := range p.log {
		switch {
		case i.Kind == Exited:
			r.Exited, r.ExitCode = true, new(int32(i.ExitCode))
		case i.Kind == Closed:
			r.Closed = true
		case i.last <= *params.AfterSeq || i.last <= p.evicted || full:
		case params.MaxBytes != nil && total > 0 && total+uint64(len(i.Data)) > *params.MaxBytes:
			full = true
		default:
			total += uint64(len(i.Data))
			r.Chunks = append(r.Chunks, protocol.Chunk{Seq: i.Seq, Stream: i.Stream, Chunk: i.Data})
		}
	}
	if params.MaxBytes != nil && len(r.Chunks) > 0 {
		r.NextSeq = r.Chunks[len(r.Chunks)-1].Seq + 1
	}
	if f.features != nil {
		if first, dropped := p.gap(*params.AfterSeq); dropped != nil {
			r.Airlock = &protocol.ReadExtra{FirstSeq: first, DroppedBytes: dropped}
		}
	}
	return r, nil
}

func (f *fake) write(params *protocol.WriteParams) (*protocol.WriteResult, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.procs[params.ProcessID]
	if p == nil {
		return &protocol.WriteResult{Status: protocol.WriteUnknownProcess}, nil
	}
	if _, repeated := p.writes[params.WriteID]; !repeated {
		p.writes[params.WriteID] = string(params.Chunk)
		p.input += string(params.Chunk)
	}
	return &protocol.WriteResult{Status: protocol.WriteAccepted}, nil
}

func (f *fake) signal(params *protocol.SignalParams) (*protocol.SignalResult, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if p := f.procs[params.ProcessID]; p != nil {
		p.signals++
	}
	return &protocol.SignalResult{}, nil
}

func (f *fake) terminate(params *protocol.TerminateParams) (*protocol.TerminateResult, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.procs[params.ProcessID]
	if p == nil {
		return &protocol.TerminateResult{}, nil
	}
	p.kills++
	if p.starting {
		delete(f.procs, p.id)
	}
	running := !slices.ContainsFunc(p.log, func(i item) bool { return i.Kind == Exited })
	return &protocol.TerminateResult{Running: running}, nil
}

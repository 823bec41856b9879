package client

import (
	"cmp"
	"context"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/airlock-exec/airlock/internal/rpc"
	"github.com/airlock-exec/airlock/internal/transport"
	"github.com/airlock-exec/airlock/protocol"
)

// fakeLink is the fake's end of a connection. It implements rpc.Handler.
type fakeLink struct {
	fake  *fake
	conn  transport.Conn
	rpc   *rpc.Conn
	ready bool
	// window, sent and credit are for a fake that paces itself.
	window uint64
	sent   map[string]uint64
	credit map[string]int64
}

func (l *fakeLink) notify(p *fakeProcess, e Event, extra *protocol.EventExtra) {
	_ = l.rpc.Notify(func(dst []byte) []byte {
		switch e.Kind {
		case Exited:
			return protocol.AppendNotification(dst, protocol.NotificationProcessExited, &protocol.ExitedNotification{
				ProcessID: p.id, Seq: e.Seq, ExitCode: int32(e.ExitCode), Airlock: extra,
			})
		case Closed:
			return protocol.AppendNotification(dst, protocol.NotificationProcessClosed,
				&protocol.ClosedNotification{ProcessID: p.id, Seq: e.Seq, Airlock: extra})
		default:
			return protocol.AppendOutputNotification(dst, &protocol.OutputNotification{
				ProcessID: p.id, Seq: e.Seq, Stream: cmp.Or(e.Stream, protocol.StreamStdout), Chunk: e.Data, Airlock: extra,
			})
		}
	})
	l.rpc.Flush()
}

// Gone implements rpc.Handler.
func (l *fakeLink) Gone() {
	l.fake.files.gone(l)
	l.fake.mu.Lock()
	defer l.fake.mu.Unlock()
	if l.fake.attached == l {
		l.fake.attached = nil
	}
}

func (l *fakeLink) Handshaking(string) bool { return !l.ready }

func (*fakeLink) Lane(string) rpc.Lane { return rpc.LaneOrdinary }

func (l *fakeLink) Notification(_ context.Context, method string, params jsontext.Value) error {
	switch method {
	case protocol.NotificationInitialized:
		l.ready = true
	case protocol.NotificationProcessWindow:
		n, err := protocol.Decode[protocol.ProcessWindowNotification](params)
		if err != nil || !l.fake.paces() {
			return transport.ErrViolation
		}
		l.fake.mu.Lock()
		l.credit[n.ProcessID] += int64(n.Bytes)
		p := l.fake.procs[n.ProcessID]
		l.fake.mu.Unlock()
		if p != nil {
			l.pump(p)
		}
	default:
		return transport.ErrViolation
	}
	return nil
}

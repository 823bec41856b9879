package session

import (
	"sync"

	"github.com/airlock-exec/airlock/internal/process"
	"github.com/airlock-exec/airlock/protocol"
)

// Attachment is a peer's hold on a session. It has a pump, which turns the
// session's events into notifications.
type Attachment struct {
	registry *Registry
	session  *Session
	peer     Peer
	feed     *process.Feed
	pump     sync.WaitGroup

	mu       sync.Mutex
	detached bool
}

func newAttachment(r *Registry, s *Session, peer Peer, window uint64) *Attachment {
	return &Attachment{registry: r, session: s, peer: peer, feed: s.table.Attach(window)}
}

// Session returns what the peer is attached to.
func (a *Attachment) Session() *Session { return a.session }

// Announce starts the pump: the peer knows its session now.
func (a *Attachment) Announce() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.detached {
		a.pump.Go(a.run)
	}
}

// Stall says that the peer takes nothing of what it is told, or does again: then
// the processes need not wait for it, or have to.
func (a *Attachment) Stall(stalled bool) { a.session.table.Stall(a.feed, stalled) }

// Grant lets more output of a process be told to the peer.
func (a *Attachment) Grant(processID string, bytes uint64) {
	a.session.table.Grant(a.feed, processID, bytes)
}

// Detach lets go of the session. The peer must be gone, so that its Notify
// does not wait.
func (a *Attachment) Detach() {
	a.mu.Lock()
	a.detached = true
	a.mu.Unlock()
	a.session.table.Detach(a.feed)
	a.pump.Wait()
	a.registry.detach(a.session, a)
}

// run sends notifications until the feed ends or the peer is gone.
func (a *Attachment) run() {
	for {
		event, ok := a.feed.Next(a.peer.Flush)
		if !ok {
			return
		}
		err := a.peer.Notify(func(dst []byte) []byte { return appendEvent(dst, event) })
		if err != nil {
			return
		}
	}
}

// appendEvent appends the notification of an event.
func appendEvent(dst []byte, e process.Event) []byte {
	var extra *protocol.EventExtra
	if e.Gap != nil {
		first, dropped := process.DescribeGap(e.Gap, e.Seq)
		extra = &protocol.EventExtra{FirstSeq: first, DroppedBytes: dropped}
	}
	if e.Reason != "" || e.Denials != nil || e.SetupError != nil {
		if extra == nil {
			extra = &protocol.EventExtra{}
		}
		extra.Reason, extra.Denials, extra.SetupError = e.Reason, e.Denials, e.SetupError
	}
	switch e.Kind {
	case process.EventExited:
		return protocol.AppendNotification(dst, protocol.NotificationProcessExited,
			&protocol.ExitedNotification{
				ProcessID: e.ProcessID, Seq: e.Seq, ExitCode: e.ExitCode, SandboxDenied: e.SandboxDenied, Airlock: extra,
			})
	case process.EventClosed:
		return protocol.AppendNotification(dst, protocol.NotificationProcessClosed,
			&protocol.ClosedNotification{ProcessID: e.ProcessID, Seq: e.Seq, Airlock: extra})
	default:
		return protocol.AppendOutputNotification(dst, &protocol.OutputNotification{
			ProcessID: e.ProcessID, Seq: e.Seq,
			Stream: process.StreamName(e.Stream), Chunk: e.Data, Airlock: extra,
		})
	}
}

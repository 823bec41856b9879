package session

import (
	"cmp"
	"errors"
	"slices"
	"time"
)

// Info is what whoever runs the executor gets to see of a session.
type Info struct {
	Session    *Session
	ClientName string
	Attached   bool
	Created    time.Time
	Changed    time.Time // when it was attached or detached last
}

// List describes all sessions in the order of their making.
func (r *Registry) List() []Info {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]Info, 0, len(r.sessions))
	for _, s := range r.sessions {
		list = append(list, Info{
			Session: s, ClientName: s.clientName, Attached: s.attachment != nil,
			Created: s.created, Changed: s.changed,
		})
	}
	slices.SortFunc(list, func(a, b Info) int { return cmp.Compare(a.Session.number, b.Session.number) })
	return list
}

// Find returns a session by its id, or nil.
func (r *Registry) Find(id string) *Session {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sessions[id]
}

// ErrEnded is why a peer loses a session that whoever runs the executor has ended.
var ErrEnded = errors.New("the session has been ended by the operator")

// Shut lets nobody attach to a session any more, and nothing be started in it. It
// reports false if there is no such session (any more).
func (r *Registry) Shut(id string) bool {
	r.mu.Lock()
	s := r.sessions[id]
	if s != nil {
		s.shut = true
	}
	r.mu.Unlock()
	if s != nil {
		s.table.Shut()
	}
	return s != nil
}

// EndAfter ends a session when wait has returned, which it calls in the background.
// The channel is closed when nothing of the session is left.
func (r *Registry) EndAfter(id string, wait func()) (ended <-chan struct{}) {
	done := make(chan struct{})
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		close(done)
		return done
	}
	r.tasks.Go(func() {
		defer close(done)
		wait()
		r.End(id)
	})
	return done
}

// End closes a session, the connection to its peer included, and returns when
// nothing of it is left. It reports false if there is no such session (any more).
func (r *Registry) End(id string) bool {
	r.mu.Lock()
	s := r.sessions[id]
	if s == nil || r.closed {
		r.mu.Unlock()
		return false
	}
	delete(r.sessions, id)
	if s.expiry != nil {
		s.expiry.Stop()
		s.expiry = nil
	}
	attachment := s.attachment
	s.attachment = nil
	r.tasks.Add(1)
	r.mu.Unlock()
	defer r.tasks.Done()
	if attachment != nil {
		attachment.peer.Close(ErrEnded)
	}
	s.table.Close()
	return true
}

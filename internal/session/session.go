// Package session keeps the sessions of an executor: who is attached to each,
// how long one is kept while nobody is, and the process table that each owns.
//
// A session is attached or detached; a detached one is closed when its time is
// over, a closed one is gone. One lock guards which state each session is in.
// It is never held while a table is closed or a peer is written to.
package session

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/airlock-exec/airlock/internal/process"
	"github.com/airlock-exec/airlock/protocol"
)

// Peer takes the notifications of a session while it is attached.
type Peer interface {
	// Notify queues the message that build appends to an empty buffer. It may
	// wait, and fails when the peer is gone.
	Notify(build func(dst []byte) []byte) error
	// Flush has what was queued sent.
	Flush()
	// Probe finds out whether the peer is still there. It does not wait.
	Probe()
	// Close ends the connection to the peer.
	Close(reason error)
}

// Options say how a peer wants a session.
type Options struct {
	// Window, if not 0, is how many bytes of output of each process the peer is
	// told before it has granted more.
	Window uint64
	// Takeover lets a resume take the session from another peer.
	Takeover bool
	// ClientName is what the peer calls itself.
	ClientName string
}

// Config is how sessions are kept.
type Config struct {
	// TTL is how long a session is kept while nobody is attached.
	TTL time.Duration
	// MaxSessions bounds the sessions, attached or not.
	MaxSessions int
	// NewTable makes the process table of a new session.
	NewTable func() *process.Table
}

// Registry is all sessions of an executor.
type Registry struct {
	config Config
	tasks  sync.WaitGroup // sessions being closed

	mu       sync.Mutex
	sessions map[string]*Session
	made     uint64 // sessions so far, to number them
	closed   bool
}

// Session is one client's processes, across its connections.
type Session struct {
	id      string
	table   *process.Table
	number  uint64 // in the order of their making
	created time.Time

	// Guarded by the lock of the registry.
	attachment *Attachment // nil while detached
	expiry     *time.Timer // nil while attached
	changed    time.Time   // when it was attached or detached last
	clientName string
	shut       bool // it is being ended: nobody may attach any more
}

// ID returns the id by which the session can be resumed.
func (s *Session) ID() string { return s.id }

// Processes returns the session's process table.
func (s *Session) Processes() *process.Table { return s.table }

// NewRegistry makes a registry without sessions.
func NewRegistry(config Config) *Registry {
	return &Registry{config: config, sessions: map[string]*Session{}}
}

var errClosed = errors.New("the executor is shutting down")

// ErrTakenOver is why a peer loses its session to another one.
var ErrTakenOver = errors.New("the session has been resumed by another connection")

// Create makes a session and attaches a peer to it.
func (r *Registry) Create(peer Peer, options Options) (*Attachment, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
		return nil, errClosed
	case len(r.sessions) >= r.config.MaxSessions:
		return nil, fmt.Errorf(
			"this executor has %d sessions, as many as it may: close some, or wait until detached ones expire",
			len(r.sessions))
	}
	r.made++
	s := &Session{
		id: protocol.NewUUID().String(), table: r.config.NewTable(),
		number: r.made, created: time.Now(),
	}
	r.sessions[s.id] = s
	return r.attach(s, peer, options), nil
}

// Resume attaches a peer to a session. Events from this moment on go to the
// peer; what happened before can be read. A session that another peer is
// attached to is refused, unless options say to take it over; but that peer has
// to show that it is still there, so that a later attempt finds the session
// detached if it is not.
func (r *Registry) Resume(id string, peer Peer, options Options) (*Attachment, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.sessions[id]
	switch {
	case r.closed:
		return nil, errClosed
	case s == nil || s.shut:
		return nil, protocol.Errorf(protocol.CodeInvalidRequest, "unknown session id %s", id)
	case s.attachment != nil && options.Takeover:
		loser := s.attachment.peer
		r.tasks.Go(func() { loser.Close(ErrTakenOver) })
		return r.attach(s, peer, options), nil
	case s.attachment != nil:
		s.attachment.peer.Probe()
		return nil, protocol.Errorf(protocol.CodeSessionAttached,
			"session %s is already attached to another connection", id)
	}
	s.expiry.Stop()
	s.expiry = nil
	return r.attach(s, peer, options), nil
}

// attach makes the attachment of a session. The caller holds the lock.
func (r *Registry) attach(s *Session, peer Peer, options Options) *Attachment {
	s.attachment = newAttachment(r, s, peer, options.Window)
	s.changed = time.Now()
	s.clientName = options.ClientName
	return s.attachment
}

// detach makes a session wait for the next peer, if the attachment is still
// its own.
func (r *Registry) detach(s *Session, a *Attachment) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || s.attachment != a {
		return
	}
	s.attachment = nil
	s.changed = time.Now()
	var expiry *time.Timer
	expiry = time.AfterFunc(r.config.TTL, func() { r.expire(s, &expiry) })
	s.expiry = expiry
}

// expire closes a session whose time is over, unless it has been attached
// since. The timer is passed by reference: it is only known under the lock.
func (r *Registry) expire(s *Session, timer **time.Timer) {
	r.mu.Lock()
	if r.closed || s.expiry != *timer {
		r.mu.Unlock()
		return
	}
	delete(r.sessions, s.id)
	r.tasks.Add(1)
	r.mu.Unlock()
	defer r.tasks.Done()
	s.table.Close()
}

// Close closes every session and waits until nothing of them is left.
func (r *Registry) Close() {
	r.mu.Lock()
	r.closed = true
	for _, s := range r.sessions {
		if s.expiry != nil {
			s.expiry.Stop()
		}
		r.tasks.Go(s.table.Close)
	}
	clear(r.sessions)
	r.mu.Unlock()
	r.tasks.Wait()
}

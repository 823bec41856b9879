package server

import (
	"fmt"
	"time"

	"github.com/airlock-exec/airlock/internal/transport"
)

// AuthConfig says what a client must present to connect.
type AuthConfig = transport.AuthConfig

// Modes of authentication.
const (
	// CapabilityToken: the client presents one fixed secret.
	CapabilityToken = transport.CapabilityToken
	// SignedBearerToken: the client presents a JWT (HS256).
	SignedBearerToken = transport.SignedBearerToken
)

// ListenConfig says where and how clients may connect.
type ListenConfig struct {
	// URL is "ws://IP:PORT"; port 0 takes any free one.
	URL string
	// Auth is what clients must present.
	Auth AuthConfig
	// PingInterval is the time between pings to a client, by default 30 s.
	PingInterval time.Duration
	// PingTimeout is how long a client may be silent, pings included, before
	// its connection is dropped; by default 90 s.
	PingTimeout time.Duration
	// MaxConnections bounds the clients, by default 8192.
	MaxConnections int
}

// Listener is a place where clients connect to a server.
type Listener struct {
	server    *Server
	transport *transport.Listener
}

// Listen opens a place for WebSocket clients. They are served once
// [Listener.Serve] is called.
func (s *Server) Listen(config ListenConfig) (*Listener, error) {
	address, err := transport.ParseListen(config.URL)
	if err != nil {
		return nil, err
	}
	if address.IsStdio() {
		return nil, fmt.Errorf("listening on %q: use ServeStdio for standard input and output", config.URL)
	}
	auth, err := transport.NewAuthenticator(config.Auth)
	if err != nil {
		return nil, err
	}
	l, err := transport.Listen(transport.Config{
		Address:        address,
		Authenticator:  auth,
		PingInterval:   config.PingInterval,
		PingTimeout:    config.PingTimeout,
		MaxConnections: config.MaxConnections,
		Logger:         s.config.Logger,
	})
	if err != nil {
		return nil, err
	}
	return &Listener{server: s, transport: l}, nil
}

// URL returns the address to connect to, with the real port.
func (l *Listener) URL() string { return l.transport.URL() }

// Serve serves clients until [Listener.Close] is called, and then returns nil.
func (l *Listener) Serve() error {
	return l.transport.Serve(func(t transport.Conn) {
		if !l.server.begin() {
			return
		}
		defer l.server.connections.Done()
		_ = l.server.serve(l.server.ctx, t, client)
	})
}

// Close stops listening and ends the connections made here.
func (l *Listener) Close() { l.transport.Close() }

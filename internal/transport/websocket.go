package transport

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/airlock-exec/airlock/internal/limits"
)

// handshakeSlack is how many sockets a listener holds besides its WebSockets:
// health probes and handshakes, each bounded by limits.HandshakeTimeout.
const handshakeSlack = 256

// Config configures a Listener. Durations and numbers that are zero stand for
// the defaults in package limits.
type Config struct {
	Address        Address        // where to listen; not stdio
	Authenticator  *Authenticator // nil: everybody may connect
	PingInterval   time.Duration  // time between pings to a client
	PingTimeout    time.Duration  // silence after which a client is dropped
	MaxConnections int            // WebSockets at the same time
	Logger         *slog.Logger   // nil: nothing is logged
}

// Listener accepts WebSockets and answers health checks.
type Listener struct {
	socket *corkListener
	server *http.Server
	log    *slog.Logger
	auth   *Authenticator
	alive  keepalive
	max    int
	handle func(Conn) // set by Serve

	// running counts Serve, HTTP connections, WebSockets and closers. All but
	// the first are added while another is counted, so that Close can wait.
	running sync.WaitGroup

	mu     sync.Mutex // guards the following
	closed bool
	active int // WebSockets, those being opened included
	conns  map[*wsConn]struct{}
}

// Listen binds the address. Clients can connect from now on; Serve answers them.
func Listen(cfg Config) (*Listener, error) {
	if cfg.Address.IsStdio() {
		return nil, errors.New("listen for websockets: the address is stdio")
	}
	socket, err := net.Listen(cfg.Address.network(), cfg.Address.addr.String())
	if err != nil {
		return nil, err // it names the operation and the address
	}
	return newListener(socket, cfg), nil
}

func newListener(socket net.Listener, cfg Config) *Listener {
	l := &Listener{
		log:   cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler)),
		auth:  cfg.Authenticator,
		alive: newKeepalive(cfg.PingInterval, cfg.PingTimeout),
		max:   cmp.Or(cfg.MaxConnections, limits.Connections),
		conns: make(map[*wsConn]struct{}),
	}
	l.socket = &corkListener{Listener: socket, max: int64(l.max + handshakeSlack)}
	l.server = &http.Server{
		Handler: http.HandlerFunc(l.serveHTTP),
		// "OPTIONS *" is answered like every other unknown path.
		DisableGeneralOptionsHandler: true,
		MaxHeaderBytes:               limits.HeaderBytes,
		ReadHeaderTimeout:            limits.HandshakeTimeout,
		ReadTimeout:                  limits.HandshakeTimeout, // ends idle connections, too
		WriteTimeout:                 limits.HandshakeTimeout,
		ErrorLog:                     slog.NewLogLogger(l.log.Handler(), slog.LevelDebug),
		ConnState:                    l.httpState,
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			return context.WithValue(ctx, corkKey{}, conn)
		},
	}
	return l
}

// corkKey is the context key of the *corkConn that a request came over.
type corkKey struct{}

// URL returns the address to connect to, such as "ws://127.0.0.1:36003".
func (l *Listener) URL() string {
	return "ws://" + l.socket.Addr().String()
}

// Serve calls handler, on a goroutine of its own, for every WebSocket. The
// connection is closed when handler returns. Serve is called once; it returns
// nil after Close.
func (l *Listener) Serve(handler func(Conn)) error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	l.handle = handler
	l.running.Add(1)
	l.mu.Unlock()
	defer l.running.Done()

	err := l.server.Serve(l.socket)
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serve websockets: %w", err)
}

// Close stops listening, closes every connection and waits until all handlers
// have returned; none of them may call it.
func (l *Listener) Close() {
	l.mu.Lock()
	l.closed = true
	for conn := range l.conns {
		// Together, because each may take as long as closeTimeout.
		l.running.Go(func() { conn.Close(ErrGoingAway) })
	}
	l.mu.Unlock()
	_ = l.server.Close()
	_ = l.socket.Close() // the server knows it only if Serve was called
	l.running.Wait()
}

// httpState counts the goroutines of package http, one for each connection.
func (l *Listener) httpState(conn net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		l.running.Add(1)
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.closed { // too late for server.Close to see it
			_ = conn.Close()
		}
	case http.StateHijacked, http.StateClosed:
		l.running.Done()
	}
}

// upgrade makes a WebSocket of a request that has passed all checks.
func (l *Listener) upgrade(w http.ResponseWriter, r *http.Request) {
	if err := l.reserve(); err != nil {
		answer(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	socket := r.Context().Value(corkKey{}).(*corkConn)
	conn := newWSConn(socket, r.RemoteAddr, l.alive)
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{
		InsecureSkipVerify: true, // serveHTTP has judged the origin
		CompressionMode:    websocket.CompressionDisabled,
		OnPingReceived:     conn.onPing,
	})
	if err != nil { // and the library has answered
		l.log.Debug("websocket upgrade failed", "peer", r.RemoteAddr, "error", err)
		l.release(conn)
		return
	}
	conn.start(ws)
	go l.serveConn(conn)
}

// serveConn runs the handler of a connection.
func (l *Listener) serveConn(conn *wsConn) {
	defer l.release(conn)
	defer conn.Close(nil)
	if l.track(conn) {
		l.handle(conn)
	}
}

// reserve makes room for a WebSocket, until release.
func (l *Listener) reserve() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed:
		return errors.New("shutting down")
	case l.active >= l.max:
		return fmt.Errorf("too many connections: the limit is %d", l.max)
	}
	l.active++
	l.running.Add(1)
	return nil
}

// track makes the connection known to Close; it returns false if that has been
// called already.
func (l *Listener) track(conn *wsConn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.conns[conn] = struct{}{}
	return true
}

func (l *Listener) release(conn *wsConn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, conn)
	l.active--
	l.running.Done()
}

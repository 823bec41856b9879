package client

import (
	"context"
	"time"

	"github.com/airlock-exec/airlock/internal/transport"
	"github.com/airlock-exec/airlock/protocol"
)

// Executor runs commands, works with files and makes HTTP requests.
type Executor interface {
	// Info describes the executor's host, and what the executor can do.
	Info() *protocol.EnvironmentInfo
	// SessionID is the id by which whoever knows it can resume the session. It
	// is a secret.
	SessionID() string
	// Status asks whether the executor takes requests.
	Status(ctx context.Context) (*protocol.EnvironmentStatus, error)
	// Start starts a process. The error is a *[protocol.Error] if the executor
	// refused; it is [ErrProcessExists] if the id is taken.
	//
	// What params.Airlock asks for is an error that wraps errors.ErrUnsupported if
	// the executor does not have the feature: it is never ignored.
	//
	// If the connection is lost on the way the start is repeated, and happens
	// once: the sandbox type is then not always known.
	Start(ctx context.Context, params *protocol.StartParams) (*Process, error)
	// Process returns a handle on a process of the session, whoever has started
	// it; of one of ours that has not closed it is the handle that Start has
	// returned. Nobody is asked whether there is such a process: the handle's
	// methods tell. Its events begin with the oldest that the executor has kept.
	Process(id string) *Process
	// Processes lists the processes of the session in the order of their starts,
	// those that have closed and are not forgotten included; usage asks also for
	// what they use. The error wraps errors.ErrUnsupported if the executor can't
	// do that.
	Processes(ctx context.Context, usage bool) ([]protocol.ProcessInfo, error)
	// Files returns what works with the files of the executor's host.
	Files() *Files
	// HTTP returns what makes HTTP requests from the executor's host.
	HTTP() *HTTP
	// Close ends the connection. Processes live on until the session expires,
	// or until an executor in the same program is closed.
	Close() error
}

// Connector opens connections to an executor. *server.Server is one.
type Connector interface {
	Connect(ctx context.Context) (transport.Conn, error)
}

// Options say how to connect. The zero value is fine.
type Options struct {
	// Name labels the client in the executor's logs.
	Name string
	// BearerToken is presented when a WebSocket is opened.
	BearerToken string
	// ResumeSessionID names a session to go on with, in place of a new one. It
	// is an error with the code [protocol.CodeSessionAttached] if somebody is
	// attached to it, unless Takeover is set.
	ResumeSessionID string
	// Takeover takes the session from whoever is attached to it, if the
	// executor can do that.
	Takeover bool
	// ReconnectTimeout is how long a lost connection is tried to be had again.
	// The default is 75 s, as executors keep a session for 80 s. If it is
	// negative, nothing is tried.
	ReconnectTimeout time.Duration
	// OnConnection, if set, is called with the reason when the connection is
	// lost and will be tried to be had again, and with nil when that has
	// succeeded. One call ends before the next one begins, and the reconnection
	// waits for them: they must not wait for the executor, or close it.
	OnConnection func(lost error)
}

// Dial connects to the executor at a ws:// or wss:// URL and opens a session.
func Dial(ctx context.Context, url string, options Options) (Executor, error) {
	return Connect(ctx, dialer{url, options.BearerToken}, options)
}

type dialer struct{ url, token string }

func (d dialer) Connect(ctx context.Context) (transport.Conn, error) {
	return transport.Dial(ctx, d.url, transport.DialOptions{
		BearerToken: d.token, PingInterval: pingInterval, PingTimeout: 3 * pingInterval,
	})
}

// pingInterval is short enough for a connection that has died silently to be
// replaced before the executor has noticed that and then kept the session for
// its time.
const pingInterval = 15 * time.Second

// Connect opens a session over a connection of the connector's making. The
// connector is used again when that is lost.
func Connect(ctx context.Context, connector Connector, options Options) (Executor, error) {
	e, err := connect(ctx, connector, options)
	if err != nil {
		return nil, err
	}
	return e, nil
}

package fetch

import (
	"cmp"
	"log/slog"
	"os"
	"sync/atomic"

	"github.com/airlock-exec/airlock/internal/fetch/deny"
	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
)

// Config says how requests are made. The zero value is ready.
type Config struct {
	// LookupEnv looks up a variable of the executor's environment; nil stands for
	// [os.LookupEnv]. Proxies and certificates are looked up at first use, what
	// headers refer to whenever they do.
	LookupEnv func(string) (string, bool)
	// MaxBodyBytes bounds the body of an answer that is not streamed, decoded; 0
	// stands for [limits.HTTPBodyBytes].
	MaxBodyBytes int64
	// Deny lists what must not be reached: addresses, blocks of them
	// (169.254.0.0/16), names, and names that stand for all below them
	// (*.example.com).
	Deny []string
	// Logger is told what failed; nil stands for nobody.
	Logger *slog.Logger
}

// Fetcher makes requests for all connections of an executor.
type Fetcher struct {
	lookupEnv func(string) (string, bool)
	maxBody   int64
	denied    *deny.List
	logger    *slog.Logger
	settings  atomic.Pointer[settings] // nil until they are needed
	closed    atomic.Bool

	exchanges budget // of all connections
	memory    budget // bodies and the windows of decoders, in bytes
	large     buffers
}

// New makes a Fetcher. The error names the entry of Deny that is wrong.
func New(config Config) (*Fetcher, error) {
	denied, err := deny.Parse(config.Deny)
	if err != nil {
		return nil, err
	}
	f := &Fetcher{
		lookupEnv: config.LookupEnv,
		maxBody:   cmp.Or(config.MaxBodyBytes, limits.HTTPBodyBytes),
		denied:    denied,
		logger:    config.Logger,
		exchanges: budget{limit: limits.HTTPExchangesTotal},
		memory:    budget{limit: limits.HTTPBufferedBytes},
		large:     buffers{lent: budget{limit: limits.HTTPLargeReads}, size: limits.HTTPDeltaBytes},
	}
	if f.lookupEnv == nil {
		f.lookupEnv = os.LookupEnv
	}
	if f.logger == nil {
		f.logger = slog.New(slog.DiscardHandler)
	}
	return f, nil
}

// Close ends the Fetcher, after all of its connections have been closed: there
// will be no more.
func (f *Fetcher) Close() { f.closed.Store(true) }

// Connection returns what makes the requests of one client. Parts of streamed
// bodies are given to notify, which waits while the client is slow, fails when it
// is gone, and does not keep what it is given.
func (f *Fetcher) Connection(notify func(*protocol.HTTPBodyDeltaNotification) error) *Connection {
	c := &Connection{fetcher: f, notify: notify, streams: map[string]struct{}{}}
	if f.closed.Load() {
		c.Close()
	}
	return c
}

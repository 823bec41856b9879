package fetch

import (
	"context"
	"crypto/tls"
	"net"

	"github.com/airlock-exec/airlock/internal/limits"
)

// dialFunc connects to an address.
type dialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

// dialPlain returns a function that connects, for as long as somebody wants that.
func (c *Connection) dialPlain(dialer *net.Dialer) dialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		ctx, leave, err := c.attend(ctx)
		if err != nil {
			return nil, err
		}
		defer leave()
		socket, err := c.dial(ctx, dialer, network, address)
		if err != nil {
			return nil, err
		}
		return &recordedConn{Conn: socket}, nil
	}
}

// dialTLS returns a function that connects and agrees on TLS.
func (c *Connection) dialTLS(dialer *net.Dialer, config *tls.Config) dialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		ctx, leave, err := c.attend(ctx)
		if err != nil {
			return nil, err
		}
		defer leave()
		socket, err := c.dial(ctx, dialer, network, address)
		if err != nil {
			return nil, err
		}
		config := config.Clone()
		config.ServerName, _, _ = net.SplitHostPort(address)
		config.NextProtos = []string{"h2", "http/1.1"}
		secure := tls.Client(socket, config)
		ctx, cancel := context.WithTimeout(ctx, limits.HTTPTLSTimeout)
		defer cancel()
		if err := secure.HandshakeContext(ctx); err != nil {
			_ = socket.Close()
			return nil, err
		}
		if secure.ConnectionState().NegotiatedProtocol == "h2" {
			return secure, nil // as net/http has to see it
		}
		return &recordedConn{Conn: secure}, nil
	}
}

// attend returns a context that ends when the request has been given up, as
// net/http would go on connecting, and when the client is gone.
func (c *Connection) attend(ctx context.Context) (attended context.Context, leave func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	stop := func() bool { return true }
	if request, ok := ctx.Value(requestKey{}).(context.Context); ok {
		stop = context.AfterFunc(request, cancel)
	}
	out, ok := c.scope.enter(cancel)
	if !ok {
		stop()
		cancel()
		return nil, nil, errClosed
	}
	return ctx, func() {
		stop()
		cancel()
		out()
	}, nil
}

// dial connects to an address. The socket is closed when the client is gone.
func (c *Connection) dial(ctx context.Context, dialer *net.Dialer, network, address string) (net.Conn, error) {
	conn, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	socket, ok := c.scope.own(conn)
	if !ok {
		return nil, errClosed
	}
	return socket, nil
}

package fetch

import (
	"context"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"syscall"

	"github.com/airlock-exec/airlock/internal/limits"
)

// routes are the ways to origins.
type routes struct {
	settings *settings
	direct   *http.Transport
	proxied  *http.Transport
}

func newRoutes(c *Connection, s *settings) *routes {
	denied := c.fetcher.denied
	guarded := &net.Dialer{ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil {
			return err
		}
		return denied.Addr(to.Addr())
	}}
	r := &routes{settings: s, direct: newTransport(c, s, guarded), proxied: newTransport(c, s, &net.Dialer{})}
	r.proxied.Proxy = func(built *http.Request) (*url.URL, error) {
		proxy, _ := built.Context().Value(proxyKey{}).(*url.URL)
		return proxy, nil
	}
	return r
}

func newTransport(c *Connection, s *settings, dialer *net.Dialer) *http.Transport {
	return &http.Transport{
		DialContext:            c.dialPlain(dialer),
		DialTLSContext:         c.dialTLS(dialer, s.tls),
		TLSClientConfig:        s.tls.Clone(), // for what is behind a proxy
		TLSHandshakeTimeout:    limits.HTTPTLSTimeout,
		ForceAttemptHTTP2:      true,
		HTTP2:                  &http.HTTP2Config{MaxReceiveBufferPerStream: limits.HTTPStreamWindow},
		DisableCompression:     true, // we do it
		MaxIdleConns:           limits.HTTPIdleConns,
		MaxIdleConnsPerHost:    limits.HTTPIdleConns,
		IdleConnTimeout:        limits.HTTPIdleTimeout,
		MaxResponseHeaderBytes: limits.HTTPAnswerHeaderBytes,
		ProxyConnectHeader:     http.Header{"User-Agent": nil},
	}
}

// close ends the connections to origins that nobody uses.
func (r *routes) close() {
	r.direct.CloseIdleConnections()
	r.proxied.CloseIdleConnections()
}

// Keys of what the context of a request says to its transport.
type (
	proxyKey   struct{} // *url.URL: the proxy that has been decided on
	requestKey struct{} // context.Context: that of the request itself
)

// send sends a request the way that it has to go. With the answer comes its head
// as it was received, or nil if it was not text or was encrypted for a proxy.
func (r *routes) send(ctx context.Context, req *request) (*http.Response, []byte, error) {
	var socket *recordedConn
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		if socket, _ = info.Conn.(*recordedConn); socket != nil {
			socket.record()
		}
	}})
	ctx = context.WithValue(ctx, requestKey{}, ctx)
	transport, proxy := r.direct, r.settings.proxyFor(req.url)
	if proxy != nil {
		transport, ctx = r.proxied, context.WithValue(ctx, proxyKey{}, proxy)
	}
	answer, err := transport.RoundTrip(req.build(ctx, proxy != nil))
	if err != nil || socket == nil {
		return answer, nil, err
	}
	return answer, socket.recorded(), nil
}

package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"strings"
	"syscall"

	"github.com/airlock-exec/airlock/internal/fetch/deny"
	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
)

// deadlineError says that the time that the client gave is over.
type deadlineError struct{ ms uint64 }

func (e *deadlineError) Error() string {
	return fmt.Sprintf("it took longer than the %d ms of timeoutMs", e.ms)
}

// sendError tells why there is no answer. The beginning is the dialect's.
func (e *Exchange) sendError(ctx context.Context, err error) error {
	if denied, ok := errors.AsType[*deny.Error](err); ok {
		e.log(denied.Error())
		return failed("%v", denied)
	}
	text := cause(ctx, err, "the server closed the connection without an answer")
	e.log(text)
	return failed("error sending request for url (%s): %s", e.request.url, text)
}

// failed makes an error about a request that was sound.
func failed(format string, args ...any) error {
	return protocol.Errorf(protocol.CodeInternal, "http/request failed: "+format, args...)
}

// undecodable begins the errors about a body that ends before its end.
const undecodable = "error decoding response body"

// bodyText tells why a body ends before its end. The beginning is the dialect's.
func (e *Exchange) bodyText(ctx context.Context, err error) string {
	text := cause(ctx, err, "it ends early")
	e.log(text)
	return undecodable + ": " + text
}

// log tells the operator what failed, and where, but not what it was about.
func (e *Exchange) log(cause string) {
	e.conn.fetcher.logger.Debug("http request failed", "host", e.request.url.Authority(), "cause", cause)
}

// cause tells why something failed, in words that hold nothing that was sent or
// received. At the end of what is read it is over.
func cause(ctx context.Context, err error, over string) string {
	if ctx.Err() != nil {
		return context.Cause(ctx).Error()
	}
	if lookup, ok := errors.AsType[*net.DNSError](err); ok {
		return fmt.Sprintf("looking up %s: %s", lookup.Name, lookup.Err)
	}
	if number, ok := errors.AsType[syscall.Errno](err); ok {
		return number.Error()
	}
	if text := tlsCause(err); text != "" {
		return text
	}
	if _, ok := errors.AsType[textproto.ProtocolError](err); ok {
		return "the answer has malformed headers"
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return over
	}
	// What net/http quotes has been received.
	text, _, _ := strings.Cut(err.Error(), `"`)
	return strings.TrimRight(text, " :")
}

// tlsCause tells what is wrong with a certificate, or with TLS, or nothing.
func tlsCause(err error) string {
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return "the server does not speak TLS"
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "the certificate is signed by an unknown authority; if it is to be trusted, " +
			"add the authority's certificate to the file that CODEX_CA_CERTIFICATE of the executor names"
	}
	if invalid, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return invalid.Err.Error()
	}
	return ""
}

// errNoMemory says that a body can't be kept.
var errNoMemory = fmt.Errorf("the bodies of all requests together take nearly %d MiB, which is as much as the executor keeps; "+
	"try again later, or with streamResponse", limits.HTTPBufferedBytes>>20)

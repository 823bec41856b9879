package fetch

import (
	"cmp"
	"io"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
)

// run streams the body.
func (e *Exchange) run() {
	defer e.end()
	parts := &parts{id: e.id, notify: e.conn.notify}
	err := e.pump(parts)
	if parts.err != nil {
		return // the client is gone
	}
	// A client that sees the end may use the id at once.
	e.freeID()
	if err == io.EOF {
		parts.finish(nil)
		return
	}
	text := e.cause(err)
	parts.finish(&text)
}

// end gives back what the stream takes.
func (e *Exchange) end() {
	e.cancel(nil)
	_ = e.body.Close()
	e.finish()
}

// pump passes the body on as it comes, and returns why it ends.
func (e *Exchange) pump(to *parts) error {
	large := &e.conn.fetcher.large
	small := make([]byte, limits.HTTPReadBytes)
	for much := false; ; {
		buf := &small
		if much {
			buf = cmp.Or(large.take(), buf)
		}
		n, err := e.body.Read(*buf)
		to.send((*buf)[:n])
		if buf != &small {
			large.give(buf)
		}
		if err != nil || to.err != nil {
			return err
		}
		much = n >= len(small)
	}
}

// parts numbers the parts of a body.
type parts struct {
	id     string
	notify func(*protocol.HTTPBodyDeltaNotification) error
	seq    uint64
	err    error // of the client
}

// send passes a part on, if there is something in it.
func (p *parts) send(data []byte) {
	if len(data) > 0 && p.err == nil {
		p.tell(data, false, nil)
	}
}

// finish tells the end, and why if it is not that of the body.
func (p *parts) finish(text *string) { p.tell([]byte{}, true, text) }

func (p *parts) tell(data []byte, done bool, text *string) {
	p.seq++
	p.err = p.notify(&protocol.HTTPBodyDeltaNotification{
		RequestID: p.id, Seq: p.seq, DeltaBase64: data, Done: done, Error: text,
	})
}

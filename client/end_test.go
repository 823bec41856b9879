package client

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/airlock-exec/airlock/internal/transport"
)

// polite opens connections whose end is a goodbye.
type polite struct{ *fake }

func (p polite) Connect(ctx context.Context) (transport.Conn, error) {
	conn, err := p.fake.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return conn.(remote).Conn, nil
}

// TestGoingAway: an executor that is shut down is not waited for.
func TestGoingAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, pacing...)
		gone := false
		e := open(t, connectorFunc(func(ctx context.Context) (transport.Conn, error) {
			if gone {
				return nil, transport.ErrGoingAway
			}
			return f.Connect(ctx)
		}), Options{})
		gone = true
		f.cut()
		began := time.Now()
		if _, err := e.Status(t.Context()); !errors.Is(err, ErrDisconnected) || time.Since(began) > firstPause {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

type connectorFunc func(context.Context) (transport.Conn, error)

func (c connectorFunc) Connect(ctx context.Context) (transport.Conn, error) { return c(ctx) }

// TestCloseWhileDisconnected: nothing has to be waited for.
func TestCloseWhileDisconnected(t *testing.T) {
	kinds(t, func(t *testing.T, f *fake) {
		e := open(t, f, Options{})
		p := begin(t, e, "p")
		f.unreachable = true
		f.cut()
		time.Sleep(10 * time.Second)
		began := time.Now()
		if err := e.Close(); err != nil || time.Since(began) != 0 {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		if _, err := p.Next(t.Context()); !errors.Is(err, ErrDisconnected) {
			t.Errorf("the process: %v", err)
		}
		if err := e.Close(); err != nil {
			t.Errorf("the second time: %v", err)
		}
	})
}

// TestNonsense: an executor whose notifications make no sense is left.
func TestNonsense(t *testing.T) {
	kinds(t, func(t *testing.T, f *fake) {
		e := open(t, f, Options{})
		p := begin(t, e, "p")
		_ = f.attached.rpc.Notify(func(dst []byte) []byte {
			return append(dst, `{"method":"process/output","params":{"processId":7}}`...)
		})
		f.attached.rpc.Flush()
		if _, err := p.Next(t.Context()); !errors.Is(err, ErrDisconnected) || !errors.Is(err, errNonsense) {
			t.Errorf("got %v", err)
		}
		if len(f.opened) != 1 {
			t.Errorf("%d connections", len(f.opened))
		}
	})
}

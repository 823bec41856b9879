package client_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/airlock-exec/airlock/client"
	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/internal/transport"
)

// connector connects as a test wants it.
type connector func(context.Context) (transport.Conn, error)

func (c connector) Connect(ctx context.Context) (transport.Conn, error) { return c(ctx) }

// TestConnectDoesNotWaitForEver: neither for a connection, nor for a server that
// takes one and says nothing.
func TestConnectDoesNotWaitForEver(t *testing.T) {
	for name, connect := range map[string]connector{
		"no connection": func(ctx context.Context) (transport.Conn, error) {
			<-ctx.Done()
			return nil, context.Cause(ctx)
		},
		"no answer": func(context.Context) (transport.Conn, error) {
			ours, _ := transport.Pair()
			return ours, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				_, err := client.Connect(t.Context(), connect, client.Options{})
				if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took != limits.ConnectTimeout {
					t.Errorf("%v after %v", err, took)
				}
			})
		})
	}
}

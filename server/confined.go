package server

import (
	"context"
	"os"

	"github.com/airlock-exec/airlock/internal/files/confined"
	"github.com/airlock-exec/airlock/internal/rpc"
)

// newConfined returns what carries out operations on files that are to be confined.
func (s *Server) newConfined() *confined.Pool {
	dir, err := os.Getwd()
	if err != nil {
		dir = "/" // what a policy that names no directory then refers to is not there
	}
	return confined.New(confined.Config{
		Group:   s.spawner.NewGroup(),
		Backend: s.sandbox,
		Env:     os.Environ(),
		Dir:     dir,
		Guarded: guarded,
		Logger:  s.config.Logger,
	})
}

// onFiles makes a method about files of a handler.
func onFiles[P any](handler func(c *connection, r rpc.Request, params *P) rpc.Reply) func(*connection, string, rpc.Request) rpc.Reply {
	return handle(func(c *connection, r rpc.Request, params *P) rpc.Reply {
		if err := confined.Check(params); err != nil {
			return rpc.Reply{Err: err}
		}
		return handler(c, r, params)
	})
}

// confine carries out an operation on files in the confinement that its parameters
// ask for, if that is needed.
func confine[P any](ctx context.Context, c *connection, method string, params *P) (reply rpc.Reply, done bool) {
	if !confined.Confines(params) {
		return rpc.Reply{}, false
	}
	return rpc.Reply{Result: appended(func(dst []byte) ([]byte, error) {
		return c.server.confined.Append(ctx, dst, method, params)
	})}, true
}

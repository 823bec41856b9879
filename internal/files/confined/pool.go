package confined

import (
	"context"
	"log/slog"
	"os"

	"github.com/airlock-exec/airlock/internal/sandbox"
	"github.com/airlock-exec/airlock/internal/spawn"
	"github.com/airlock-exec/airlock/protocol"
)

// Config says how workers are confined, and what policies refer to.
type Config struct {
	// Group is what workers are started in. The pool closes it.
	Group *spawn.Group
	// Backend enforces plans. Without one everything is refused.
	Backend sandbox.Backend
	// Env is the environment of this program. A worker gets its PATH and the
	// directory for temporary files.
	Env []string
	// Dir is the directory that a policy refers to if it names none.
	Dir string
	// Guarded returns what no operation may write, whatever it is allowed.
	Guarded func() []string
	// Logger is told of workers that fail. Nil discards.
	Logger *slog.Logger
}

// errNoSandbox answers where nothing can be enforced.
func errNoSandbox() error {
	return protocol.Errorf(protocol.CodeInvalidRequest, "filesystem sandbox cannot be enforced on this executor: "+
		"it has no sandbox; ask for it without `sandbox`, or use an executor that has one")
}

// Append carries out an operation whose parameters, a pointer, ask for a confinement,
// in that, and appends the result.
func (p *Pool) Append(ctx context.Context, dst []byte, method string, params any) ([]byte, error) {
	dst, file, err := p.do(ctx, dst, method, params)
	if file != nil {
		file.Close()
		return dst, errUnexpected(method)
	}
	return dst, err
}

// Open opens a file in the confinement that the parameters, a pointer, ask for.
func (p *Pool) Open(ctx context.Context, method string, params any) (*os.File, error) {
	_, file, err := p.do(ctx, nil, method, params)
	if err == nil && file == nil {
		err = errUnexpected(method)
	}
	return file, err
}

// errUnexpected answers for a worker that has done something else.
func errUnexpected(method string) error {
	return protocol.Errorf(protocol.CodeInternal, "unexpected fs sandbox helper response: expected %s, got another", method)
}

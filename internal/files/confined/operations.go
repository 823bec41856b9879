package confined

import (
	"context"
	"os"

	"github.com/airlock-exec/airlock/internal/files"
	"github.com/airlock-exec/airlock/internal/files/search"
	"github.com/airlock-exec/airlock/protocol"
)

// outcome is what an operation has come to: a result in JSON, or an open file.
type outcome struct {
	result []byte
	file   *os.File
}

// operation is what a worker does for a method.
type operation func(ctx context.Context, f *files.Files, params []byte) (outcome, error)

// operations are all that a worker can do, and what has been offered besides.
var operations = map[string]operation{
	protocol.MethodReadFile:  opens(files.OpenToRead),
	protocol.MethodWriteFile: opens(files.OpenToWrite),
	protocol.MethodOpenFile:  opens(files.OpenBlocks),

	protocol.MethodCreateDirectory: whole((*files.Files).CreateDirectory),
	protocol.MethodGetMetadata:     whole((*files.Files).GetMetadata),
	protocol.MethodCanonicalize:    whole((*files.Files).Canonicalize),
	protocol.MethodReadDirectory:   whole((*files.Files).ReadDirectory),
	protocol.MethodRemove:          whole((*files.Files).Remove),
	protocol.MethodCopy:            whole((*files.Files).Copy),
	protocol.MethodRename:          whole((*files.Files).Rename),
	protocol.MethodChmod:           whole((*files.Files).Chmod),
	protocol.MethodWalk:            appends((*files.Files).AppendWalk),

	protocol.MethodReadRange: looks(search.ReadRange),
	protocol.MethodSearch:    looks(search.Search),
}

// Offer adds an operation to those that a worker can do, under a name that no method
// has. It has to be called before [RunIfWorker]. The parameters tell by a method
// Confinement, as that of package discover has it, where they ask for one.
func Offer[P, R any](name string, do func(context.Context, *P) (*R, error)) {
	operations[name] = looks(do)
}

func opens[P any](open func(*P) (*os.File, error)) operation {
	return func(_ context.Context, _ *files.Files, params []byte) (outcome, error) {
		p, err := protocol.Decode[P](params)
		if err != nil {
			return outcome{}, err
		}
		file, err := open(&p)
		return outcome{file: file}, err
	}
}

func whole[P, R any](do func(*files.Files, context.Context, *P) (*R, error)) operation {
	return func(ctx context.Context, f *files.Files, params []byte) (outcome, error) {
		return looks(func(ctx context.Context, p *P) (*R, error) { return do(f, ctx, p) })(ctx, f, params)
	}
}

func looks[P, R any](do func(context.Context, *P) (*R, error)) operation {
	return func(ctx context.Context, _ *files.Files, params []byte) (outcome, error) {
		p, err := protocol.Decode[P](params)
		if err != nil {
			return outcome{}, err
		}
		r, err := do(ctx, &p)
		if err != nil {
			return outcome{}, err
		}
		result, err := protocol.Encode(r)
		return outcome{result: result}, err
	}
}

func appends[P any](do func(*files.Files, context.Context, []byte, *P) ([]byte, error)) operation {
	return func(ctx context.Context, f *files.Files, params []byte) (outcome, error) {
		p, err := protocol.Decode[P](params)
		if err != nil {
			return outcome{}, err
		}
		result, err := do(f, ctx, nil, &p)
		return outcome{result: result}, err
	}
}

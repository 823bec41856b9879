package files

import (
	"context"
	"os"

	"github.com/airlock-exec/airlock/internal/sandbox"
	"github.com/airlock-exec/airlock/protocol"
)

// openFor opens a file as the parameters of a method ask for it: here, or by the opener
// if they ask for a confinement.
func openFor[P any](
	ctx context.Context, f *Files, method string, params *P,
	confinement *protocol.SandboxContext, access sandbox.Access, here func(*P) (*os.File, error),
) (*os.File, error) {
	if f.opener == nil || !sandbox.Confines(confinement, access) {
		return here(params) // which refuses to, if it must be confined
	}
	file, err := f.opener.Open(ctx, method, params)
	if err != nil {
		return nil, err
	}
	// What has been handed over has been judged already, but not here.
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		file.Close()
		return nil, errNotRegular
	}
	return file, nil
}

package files

import (
	"context"

	"github.com/airlock-exec/airlock/internal/files/fault"
	"github.com/airlock-exec/airlock/internal/sandbox"
	"github.com/airlock-exec/airlock/protocol"
)

// Rename renames or moves what is at a path, within one file system; of a symbolic
// link, the link.
func (*Files) Rename(_ context.Context, p *protocol.RenameParams) (*protocol.RenameResult, error) {
	source, err := path(p.SourcePath, p.Sandbox, sandbox.Write)
	if err != nil {
		return nil, err
	}
	destination, err := fault.Native(p.DestinationPath)
	if err != nil {
		return nil, err
	}
	rename := renameNew
	if p.Overwrite {
		rename = renameOver
	}
	if err := rename(source, destination); err != nil {
		return nil, err
	}
	return &protocol.RenameResult{}, nil
}

package files

import (
	"context"

	"github.com/airlock-exec/airlock/internal/sandbox"
	"github.com/airlock-exec/airlock/protocol"
)

// Chmod sets the permission bits of a file or a directory.
func (*Files) Chmod(_ context.Context, p *protocol.ChmodParams) (*protocol.ChmodResult, error) {
	const most = 0o7777
	if p.Mode > most {
		return nil, protocol.Errorf(protocol.CodeInvalidRequest, "the mode %d is more than %d, the octal %o", p.Mode, most, most)
	}
	path, err := path(p.Path, p.Sandbox, sandbox.Write)
	if err != nil {
		return nil, err
	}
	place, err := locate(path, p.FollowSymlinks)
	if err != nil {
		return nil, err
	}
	defer place.Close()
	name := place.name
	if place.isTop() {
		name = "."
	}
	if err := place.dir.chmod(name, p.Mode, place.follow); err != nil {
		return nil, err
	}
	return &protocol.ChmodResult{}, nil
}

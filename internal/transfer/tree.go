package transfer

import (
	"context"

	"github.com/airlock-exec/airlock/protocol"
)

// PutTree copies a directory with all that is in it. A directory that is at the
// destination keeps what else it holds. What keeps one file from being copied is
// told, and the others are copied: an error ends it all.
func (m *Mover) PutTree(ctx context.Context, local string, destination protocol.PathURI) error {
	return m.tree(ctx, func(ctx context.Context, t *tree) error { return t.put(ctx, local, destination) })
}

// GetTree is [Mover.PutTree] in the other direction.
func (m *Mover) GetTree(ctx context.Context, source protocol.PathURI, local string) error {
	return m.tree(ctx, func(ctx context.Context, t *tree) error { return t.get(ctx, source, local) })
}

// tree is the transfer of a directory with all that is in it.
type tree struct {
	*Mover
	files *pool
	stop  context.CancelCauseFunc
}

// tree walks through a tree, waits for the files of which that has begun the
// transfers, and returns why not everything was begun.
func (m *Mover) tree(ctx context.Context, walk func(context.Context, *tree) error) error {
	walking, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	t := &tree{m, newPool(), stop}
	err := walk(walking, t)
	t.files.busy.Wait()
	if cause := context.Cause(walking); cause != nil {
		return cause
	}
	return err
}

// file begins the transfer of a file.
func (t *tree) file(ctx context.Context, move func() error) {
	t.files.run(func() {
		if ctx.Err() == nil {
			t.fail(ctx, move())
		}
	})
}

// fail takes note of what keeps something from being copied, if that is the case. If
// it is that the executor is lost, nothing more is begun.
func (t *tree) fail(ctx context.Context, err error) {
	switch {
	case err == nil || ctx.Err() != nil:
	case isLost(err):
		t.stop(err)
	default:
		t.tell(err)
	}
}

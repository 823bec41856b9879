package main

import (
	"context"
	"fmt"

	"github.com/alecthomas/kong"

	"github.com/airlock-exec/airlock/internal/transfer"
)

// transferFlags are those of put and get.
type transferFlags struct {
	Recursive bool `short:"r" help:"Copy directories, too, with all that is in them."`
	Quiet     bool `short:"q" help:"Show no progress."`
	Partial   bool `help:"Keep what has been copied of a file when interrupted, for the same command to go on with."`
}

// transferHelp is what both promise.
const transferHelp = `A file has its name when it is whole; before, it is a part beside, whose name begins with a dot and has ".airlock-" in it. A connection that is lost for less than 75 seconds makes no difference. If the executor is lost for longer, the part stays, and the same command goes on where it ends, provided that the file is the same still, by its size and time of modification. An interrupt removes the part, unless --partial is given.

`

// move runs a transfer, which an interrupt ends.
func (f *transferFlags) move(group *fsCommand, kctx *kong.Context, log *logFlags, do func(context.Context, *mover) error) error {
	ctx, stop := interruptible(context.Background())
	defer stop()
	shown := startProgress(kctx.Stderr, f.Quiet)
	err := group.runTo(ctx, kctx.Stdout, shown, log, func(h *host) error {
		m := &mover{host: h, shown: shown}
		m.Mover = &transfer.Mover{Files: h.Files, Info: h.info, Moved: shown.add, Tell: h.tell, Keep: f.Partial}
		err := do(ctx, m)
		if isLost(err) && m.resumes {
			err = fmt.Errorf("%w; the same command goes on where this one has ended", h.explain(err))
		}
		return err
	})
	shown.end()
	return endedBy(ctx, err)
}

// mover moves files for a command.
type mover struct {
	*host
	*transfer.Mover
	shown   *progress
	resumes bool // what is lost can be gone on with
}

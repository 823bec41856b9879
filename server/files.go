package server

import (
	"context"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/airlock-exec/airlock/internal/files"
	"github.com/airlock-exec/airlock/internal/files/confined"
	"github.com/airlock-exec/airlock/internal/files/fault"
	"github.com/airlock-exec/airlock/internal/files/search"
	"github.com/airlock-exec/airlock/internal/files/watch"
	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/internal/rpc"
	"github.com/airlock-exec/airlock/protocol"
)

// file makes a method of one of package files, which is done when the request's
// turn has come. With a sandbox that restricts it, it is done there.
func file[P, R any](do func(*files.Files, context.Context, *P) (R, error)) func(*connection, string, rpc.Request) rpc.Reply {
	return onFiles(func(c *connection, r rpc.Request, params *P) rpc.Reply {
		return rpc.Reply{Wait: func(ctx context.Context) rpc.Reply {
			if reply, done := confine(ctx, c, r.Method, params); done {
				return reply
			}
			return fileReply(do(c.files, ctx, params))
		}}
	})
}

// written makes a method of one that writes data, whose memory is used again if
// there is much of it.
func written[P, R any](do func(*files.Files, context.Context, *P) (R, error), data func(*P) protocol.Bytes) func(*connection, string, rpc.Request) rpc.Reply {
	return onFiles(func(c *connection, _ rpc.Request, params *P) rpc.Reply {
		return rpc.Reply{Wait: func(ctx context.Context) rpc.Reply {
			result, err := do(c.files, ctx, params)
			if data := data(params); len(data) > limits.ChunkBytes {
				c.blocks.Keep(data)
			}
			return fileReply(result, err)
		}}
	})
}

// fileAppended is the same as file for what looks at files and appends its result to
// the answer.
func fileAppended[P any](do func(*files.Files, context.Context, []byte, *P) ([]byte, error)) func(*connection, string, rpc.Request) rpc.Reply {
	return onFiles(func(c *connection, r rpc.Request, params *P) rpc.Reply {
		return rpc.Reply{Wait: func(ctx context.Context) rpc.Reply {
			if reply, done := confine(ctx, c, r.Method, params); done {
				return reply
			}
			return rpc.Reply{Result: appended(func(dst []byte) ([]byte, error) {
				return do(c.files, ctx, dst, params)
			})}
		}}
	})
}

// appended makes a result of what appends itself to the answer.
func appended(do func(dst []byte) ([]byte, error)) rpc.AppendFunc {
	return func(dst []byte) ([]byte, error) {
		out, err := do(dst)
		if err != nil {
			return dst, fault.Wire(err)
		}
		return out, nil
	}
}

// looked makes a method of what only looks at files. Who has it done in a sandbox
// waits for a turn, if there are any; do does so by itself.
func looked[P, R any](do func(context.Context, *P) (R, error), turn func(context.Context) (func(), error)) func(*connection, string, rpc.Request) rpc.Reply {
	return onFiles(func(c *connection, r rpc.Request, params *P) rpc.Reply {
		if confined.Confines(params) {
			return look(c, func(ctx context.Context, params *P) (jsontext.Value, error) {
				if turn != nil {
					done, err := turn(ctx)
					if err != nil {
						return nil, err
					}
					defer done()
				}
				return c.server.confined.Append(ctx, nil, r.Method, params)
			}, params)
		}
		return look(c, do, params)
	})
}

// watched makes a method of what begins a watch: the watch tells nothing before
// the answer. If it is parked it holds up no other request, as a tree may be large.
func watched[P, R any](parked bool, do func(*watch.Watches, context.Context, *P) (R, func(), error)) func(*connection, string, rpc.Request) rpc.Reply {
	return onFiles(func(c *connection, _ rpc.Request, params *P) rpc.Reply {
		return rpc.Reply{Parked: parked, Wait: func(ctx context.Context) rpc.Reply {
			result, begin, err := do(c.watches, ctx, params)
			reply := fileReply(result, err)
			reply.Sent = begin
			return reply
		}}
	})
}

func fileReply[R any](result R, err error) rpc.Reply {
	if err != nil {
		return rpc.Reply{Err: fault.Wire(err)}
	}
	return rpc.Reply{Result: result}
}

// openFile opens a file. One that was to be kept must not be emptied.
func (c *connection) openFile(_ rpc.Request, params *protocol.OpenFileParams) rpc.Reply {
	if params.Airlock != nil && params.Airlock.Keep && !c.server.has(protocol.FeatureFSOpenKeep) {
		return rpc.Reply{Err: protocol.Errorf(protocol.CodeInvalidParams,
			"`airlock.keep` is switched off on this executor (feature %s): open the file without it",
			protocol.FeatureFSOpenKeep)}
	}
	return rpc.Reply{Wait: func(ctx context.Context) rpc.Reply {
		return fileReply(c.files.Open(ctx, params))
	}}
}

// readFile reads a whole file, which is held until the answer has been written if
// that is large.
func (c *connection) readFile(_ rpc.Request, params *protocol.ReadFileParams) rpc.Reply {
	return rpc.Reply{Wait: func(ctx context.Context) rpc.Reply {
		reading, err := c.files.ReadFile(ctx, params)
		if err != nil {
			return rpc.Reply{Err: fault.Wire(err)}
		}
		return rpc.Reply{
			Result: appended(func(dst []byte) ([]byte, error) { return reading.Append(ctx, dst) }),
			Sent:   reading.Close,
		}
	}}
}

func (c *connection) unwatch(_ rpc.Request, params *protocol.UnwatchParams) rpc.Reply {
	return rpc.Reply{Wait: func(ctx context.Context) rpc.Reply {
		return fileReply(c.watches.Unwatch(ctx, params))
	}}
}

// fileMethods are the methods about files.
func fileMethods() map[string]method {
	const family = "filesystem"
	const ordinary = rpc.LaneOrdinary
	return map[string]method{
		protocol.MethodReadFile:        {family: family, lane: ordinary, begin: onFiles((*connection).readFile)},
		protocol.MethodWriteFile:       {family: family, lane: ordinary, begin: written((*files.Files).WriteFile, func(p *protocol.WriteFileParams) protocol.Bytes { return p.DataBase64.Bytes })},
		protocol.MethodOpenFile:        {family: family, lane: ordinary, begin: onFiles((*connection).openFile)},
		protocol.MethodReadBlock:       {family: family, lane: ordinary, begin: fileAppended((*files.Files).AppendReadBlock)},
		protocol.MethodWriteBlock:      {family: family, lane: ordinary, begin: written((*files.Files).WriteBlock, func(p *protocol.WriteBlockParams) protocol.Bytes { return p.Chunk })},
		protocol.MethodCloseFile:       {family: family, lane: rpc.LaneControl, begin: file((*files.Files).CloseFile)},
		protocol.MethodCreateDirectory: {family: family, lane: ordinary, begin: file((*files.Files).CreateDirectory)},
		protocol.MethodGetMetadata:     {family: family, lane: ordinary, begin: file((*files.Files).GetMetadata)},
		protocol.MethodCanonicalize:    {family: family, lane: ordinary, begin: file((*files.Files).Canonicalize)},
		protocol.MethodReadDirectory:   {family: family, lane: ordinary, begin: file((*files.Files).ReadDirectory)},
		protocol.MethodWalk:            {family: family, lane: ordinary, begin: fileAppended((*files.Files).AppendWalk)},
		protocol.MethodRemove:          {family: family, lane: ordinary, begin: file((*files.Files).Remove)},
		protocol.MethodCopy:            {family: family, lane: ordinary, begin: file((*files.Files).Copy)},
		protocol.MethodWatchMissing:    {family: family, lane: ordinary, begin: watched(false, (*watch.Watches).WatchMissing)},

		protocol.MethodRename:    {family: family, lane: ordinary, begin: file((*files.Files).Rename), feature: protocol.FeatureFSRename},
		protocol.MethodChmod:     {family: family, lane: ordinary, begin: file((*files.Files).Chmod), feature: protocol.FeatureFSChmod},
		protocol.MethodReadRange: {family: family, lane: ordinary, begin: looked(search.ReadRange, nil), feature: protocol.FeatureFSReadRange},
		protocol.MethodSearch:    {family: family, lane: ordinary, begin: looked(search.Search, search.Turn), feature: protocol.FeatureFSSearch},
		protocol.MethodWatch:     {family: family, lane: ordinary, begin: watched(true, (*watch.Watches).Watch), feature: protocol.FeatureFSWatch},
		protocol.MethodUnwatch:   {family: family, lane: ordinary, begin: handle((*connection).unwatch), feature: protocol.FeatureFSWatch},
	}
}

// newWatches returns the watches of a connection.
func (c *connection) newWatches() *watch.Watches {
	return watch.New(watch.Config{
		Budget: &c.server.watchBudget,
		MissingChanged: func(n *protocol.MissingChangedNotification) error {
			return c.notify(protocol.NotificationMissingChanged, n)
		},
		Changed: func(n *protocol.ChangedNotification) error {
			return c.notify(protocol.NotificationChanged, n)
		},
	})
}

// notify queues a notification. It waits while the client is slow, and fails when
// the connection is over.
func (c *connection) notify(method string, params any) error {
	err := c.rpc.Notify(func(dst []byte) []byte { return protocol.AppendNotification(dst, method, params) })
	c.rpc.Flush()
	return err
}

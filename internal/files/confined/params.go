package confined

import (
	"github.com/airlock-exec/airlock/internal/files"
	"github.com/airlock-exec/airlock/internal/sandbox"
	"github.com/airlock-exec/airlock/protocol"
)

// asked returns the confinement that parameters ask for, as a place that it can be
// taken from. It is nil for those that can't ask for one.
func asked(params any) **protocol.SandboxContext {
	switch p := params.(type) {
	case *protocol.ReadFileParams:
		return &p.Sandbox
	case *protocol.WriteFileParams:
		return &p.Sandbox
	case *protocol.OpenFileParams:
		return &p.Sandbox
	case *protocol.CreateDirectoryParams:
		return &p.Sandbox
	case *protocol.GetMetadataParams:
		return &p.Sandbox
	case *protocol.CanonicalizeParams:
		return &p.Sandbox
	case *protocol.ReadDirectoryParams:
		return &p.Sandbox
	case *protocol.WalkParams:
		return &p.Sandbox
	case *protocol.RemoveParams:
		return &p.Sandbox
	case *protocol.CopyParams:
		return &p.Sandbox
	case *protocol.RenameParams:
		return &p.Sandbox
	case *protocol.ChmodParams:
		return &p.Sandbox
	case *protocol.ReadRangeParams:
		return &p.Sandbox
	case *protocol.SearchParams:
		return &p.Sandbox
	case *protocol.WatchParams:
		return &p.Sandbox
	case interface {
		Confinement() **protocol.SandboxContext
	}:
		return p.Confinement() // of what is offered besides
	}
	return nil
}

// accessOf returns what an operation with these parameters does to files.
func accessOf(params any) sandbox.Access {
	switch p := params.(type) {
	case *protocol.OpenFileParams:
		return files.BlocksAccess(p)
	case *protocol.CopyParams:
		return sandbox.Read | sandbox.Write
	case *protocol.WriteFileParams, *protocol.CreateDirectoryParams, *protocol.RemoveParams,
		*protocol.RenameParams, *protocol.ChmodParams:
		return sandbox.Write
	}
	return sandbox.Read
}

// Confines tells whether an operation with these parameters, which are a pointer,
// has to be carried out in a confinement.
func Confines(params any) bool {
	at := asked(params)
	return at != nil && sandbox.Confines(*at, accessOf(params))
}

// bare encodes parameters for a worker: without the confinement, as that is where it
// is, and without data to be written.
func bare(params any) ([]byte, error) {
	switch p := params.(type) {
	case *protocol.WriteFileParams:
		q := *p
		q.Sandbox, q.DataBase64 = nil, protocol.FileData{}
		return protocol.Encode(&q)
	default:
		at := asked(params)
		is := *at
		*at = nil
		defer func() { *at = is }()
		return protocol.Encode(params)
	}
}

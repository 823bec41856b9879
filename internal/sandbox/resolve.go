package sandbox

import (
	"fmt"

	"github.com/airlock-exec/airlock/internal/helper/plan"
	"github.com/airlock-exec/airlock/protocol"
)

// Request is what a client asks for, and what it is about.
type Request struct {
	// Context is the confinement; nil restricts nothing but the network, where
	// EnforceManaged asks for that.
	Context *protocol.SandboxContext
	// Dir is the directory that a command starts in, and what the policy refers to
	// if Context names none.
	Dir string
	// Env is the environment of the command.
	Env []string
	// Readable are files that must be readable unless the policy denies just them.
	Readable []string
	// Guarded are files and directories of the executor's own, which nothing may
	// write, whatever the policy says.
	Guarded []string
	// Managed are the facts of a proxy that runs already.
	Managed *protocol.ManagedNetwork
	// EnforceManaged asks that no traffic leaves but by the proxy.
	EnforceManaged bool
	// Files tells that it is about an operation on files, and not a command: there
	// is no network, and errors are those of such operations.
	Files bool
}

// Plan is what has to be enforced on this host.
type Plan struct {
	Kind Kind
	// Base and Mounts build the root of an isolated plan, in this order: what
	// contains others comes before them.
	Base   plan.Base
	Mounts []plan.Mount
	// Points are what Mounts go onto and the host may not have.
	Points []Point
	// Network is what there is of a network.
	Network Network
	// Sockets are the Unix sockets of the host that may be connected to.
	Sockets plan.Sockets
	// Ports are those on the host's loopback that a managed network reaches, under
	// the same numbers on the loopback inside.
	Ports []uint16
	// Dir is where the command starts, free of links if it is isolated.
	Dir string
	// Warnings tell what the policy asks for in vain.
	Warnings []string
	// Writable, Readable and Denied are what the policy comes to: free of links, there
	// on the host, in the order of their components. Of those that contain each other
	// the longest decides. What is below none of the first two can't be read.
	Writable, Readable, Denied []string
}

// Kind tells how much is enforced.
type Kind int

// Kinds.
const (
	// Unconfined leaves everything.
	Unconfined Kind = iota
	// Filtered leaves all files, and takes away the network and capabilities.
	Filtered
	// Isolated gives a root of its own.
	Isolated
)

// Network is what there is of a network.
type Network int

// Networks.
const (
	NetworkOpen    Network = iota // that of the host
	NetworkOff                    // none but an own loopback; without isolation, no sockets
	NetworkManaged                // an own loopback, on which there are proxies
)

// Point is an empty file or directory that has to be on the host, so that something
// can be mounted on it. It lies in a place that the command may write to. It may be
// there already, if another sandbox has made it or left it behind. If this program is
// not allowed to make it, or the disk is read-only, nobody in the sandbox is, so that
// it can be left out together with the mount that has its path.
type Point struct {
	Path      string
	Directory bool
}

// Check returns an error for what can't be enforced whatever the rest of a start says.
// named tells that the program is to see another name than that of its file.
func Check(c *protocol.SandboxContext, named bool) error {
	switch {
	case c == nil || c.WindowsSandboxLevel != protocol.WindowsSandboxMXC:
		return nil
	case named:
		return protocol.Errorf(protocol.CodeInvalidParams, "MXC custom argv0 is not supported")
	}
	return protocol.WithKind(protocol.CodeInvalidParams, protocol.KindSandboxUnavailable, "native MXC is unavailable on this executor")
}

// Resolve turns what a client asks for into what has to be enforced on this host.
// It changes nothing. Errors are of type [*protocol.Error].
func Resolve(request Request, host Host) (*Plan, error) {
	r := &resolver{request: request, host: look(host)}
	p, err := r.resolve()
	if err != nil {
		return nil, err
	}
	p.Warnings = r.warnings
	return p, nil
}

// resolver resolves one request.
type resolver struct {
	request  Request
	host     *looker
	rules    rules
	warnings []string
	// links are those on the way to what may be read or written.
	links []link
	// granted are the paths that the client has named for being written, as they were
	// named and as they are.
	granted map[string]bool
}

func (r *resolver) warn(format string, args ...any) {
	r.warnings = append(r.warnings, fmt.Sprintf(format, args...))
}

// fault is why a confinement can't be prepared.
func (r *resolver) fault(format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	if r.request.Files {
		return protocol.Errorf(protocol.CodeInvalidRequest, "failed to prepare fs sandbox: %s", text)
	}
	return protocol.WithKind(protocol.CodeInvalidParams, protocol.KindSandboxPreparation, "failed to prepare process sandbox: "+text)
}

func (r *resolver) resolve() (*Plan, error) {
	p := &Plan{Dir: r.request.Dir}
	c := r.request.Context
	if c == nil {
		return p, r.network(p)
	}
	files := c.Permissions.FileSystem
	restricted := c.Permissions.Type == protocol.PermissionsManaged && files.Type != protocol.FileSystemUnrestricted
	if r.request.Files && !restricted {
		return p, nil
	}
	if err := r.checkLevel(); err != nil {
		return nil, err
	}
	g, err := r.ground()
	if err != nil {
		return nil, err
	}
	var entries []bound
	if restricted {
		if entries, err = r.bind(g); err != nil {
			return nil, err
		}
		restricted = !everything(entries)
	}
	if err := r.network(p); err != nil {
		return nil, err
	}
	switch {
	case restricted:
		if err := r.decide(entries); err != nil {
			return nil, err
		}
	case p.Network == NetworkManaged:
		r.rules.add(rule{path: "/", grade: writable, directory: true, origin: "unrestricted files"})
	case p.Network == NetworkOff && !r.request.Files:
		p.Kind = Filtered
		return p, nil
	default:
		return p, nil
	}
	return p, r.isolate(p)
}

func (r *resolver) checkLevel() error {
	err := Check(r.request.Context, false)
	if err != nil && r.request.Files {
		return r.fault("failed to prepare MXC sandbox: %v", err)
	}
	return err
}

// everything tells whether all files may be written, and nothing is taken away from
// that. Whoever names the root by its path gets a root of his own.
func everything(entries []bound) bool {
	root := false
	for _, e := range entries {
		if e.grade != writable {
			return false
		}
		root = root || e.root
	}
	return root
}

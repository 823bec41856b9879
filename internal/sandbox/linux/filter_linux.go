package linux

import (
	"github.com/airlock-exec/airlock/internal/sandbox"
	"github.com/airlock-exec/airlock/internal/sandbox/seccomp"
)

// filter returns the filter of system calls for a plan.
func (b *Backend) filter(p *sandbox.Plan) ([]byte, error) {
	filter, err := seccomp.Compile(b.filterOptions(p))
	if err != nil {
		return nil, unavailable(err.Error())
	}
	return filter, nil
}

func (b *Backend) filterOptions(p *sandbox.Plan) seccomp.Options {
	o := seccomp.Options{Mode: seccomp.Restricted, Report: true, Nested: b.config.Nesting}
	switch p.Network {
	case sandbox.NetworkOff:
	case sandbox.NetworkOpen:
		o.Mode = seccomp.Open
		o.Judge = !p.Sockets.All
	case sandbox.NetworkManaged:
		o.Mode = seccomp.ProxyRouted
		o.UnixSockets = p.Sockets.All || p.Sockets.Abstract || len(p.Sockets.Paths) > 0
		o.Judge = o.UnixSockets && !p.Sockets.All
	}
	return o
}

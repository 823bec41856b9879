// Package seccomp compiles the filters of system calls that confined programs
// run under. A filter lets everything pass that it does not name, as programs
// need new system calls sooner than anyone lists them; what it names is what a
// policy forbids, and what ordinary programs never do but attacks on a kernel
// begin with.
//
// A filter is a program for one architecture. Whatever enters the kernel in the
// manner of another one, where the same numbers mean other things, is killed.
package seccomp

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
)

// Mode is what is left of sockets, and of looking into other processes.
type Mode int

// Modes. There is none that allows everything: a program that is not to be
// filtered has no filter.
const (
	// Restricted leaves Unix sockets that are connected when they are made, and
	// no others.
	Restricted Mode = iota + 1
	// ProxyRouted leaves internet sockets: there is nothing but proxies to be
	// reached with them.
	ProxyRouted
	// Open leaves all families but those that reach the host of a virtual
	// machine.
	Open
)

// Options say what a filter does.
type Options struct {
	Mode Mode
	// UnixSockets allows Unix sockets in the mode ProxyRouted.
	UnixSockets bool
	// Judge has the helper carry out each connect, as a filter does not see what
	// to: it judges Unix sockets. Those that need no connect to send are denied.
	// It is for the modes Open and ProxyRouted.
	Judge bool
	// Report tells the helper of what is denied, as far as that says something
	// about the program. What is allowed costs no more by it.
	Report bool
	// Nested leaves the system calls that namespaces and their roots are made
	// with, and all that another Airlock inside needs.
	Nested bool
}

// ErrArchitecture means that there are no filters for this architecture.
var ErrArchitecture = errors.New("there are no seccomp filters for " + runtime.GOARCH + "; it takes amd64 or arm64")

// compiled has the filters that there have been, by their options: those are few,
// and each start of a command needs one.
var compiled sync.Map

// Compile returns a filter for the architecture of this program, as the kernel
// takes it: an array of struct sock_filter, which must not be changed. It fails if
// the options make no sense, and with [ErrArchitecture].
func Compile(o Options) ([]byte, error) {
	if b, ok := compiled.Load(o); ok {
		return b.([]byte), nil
	}
	a, ok := architectures[runtime.GOARCH]
	if !ok {
		return nil, ErrArchitecture
	}
	b, err := compile(a, o)
	if err == nil {
		compiled.Store(o, b)
	}
	return b, err
}

func (o Options) check() error {
	switch {
	case o.Mode < Restricted || o.Mode > Open:
		return fmt.Errorf("there is no seccomp mode %d", o.Mode)
	case o.Judge && o.Mode == Restricted:
		return errors.New("in the restricted seccomp mode nothing is connected: there is nothing to judge")
	case o.Judge && o.Mode == ProxyRouted && !o.UnixSockets:
		return errors.New("connections of Unix sockets can't be judged if there are none")
	}
	return nil
}

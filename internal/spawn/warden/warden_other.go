//go:build !linux

package warden

import (
	"errors"
	"fmt"
)

// ErrClosed is what Start returns after Close.
var ErrClosed = errors.New("the warden has been closed")

var errNoWarden = fmt.Errorf("there is no warden on this system: "+
	"neither cgroups nor mounts are made for a process, and it would have nothing to remove: %w",
	errors.ErrUnsupported)

// Warden does nothing on this system.
type Warden struct{}

// New returns a Warden.
func New(config Config) *Warden {
	config.setDefaults()
	return &Warden{}
}

// Start returns an error that is [errors.ErrUnsupported].
func (*Warden) Start() error { return errNoWarden }

// Add does nothing.
func (*Warden) Add(string) {}

// Remove does nothing.
func (*Warden) Remove(string) {}

// PID returns 0.
func (*Warden) PID() int { return 0 }

// Close does nothing.
func (*Warden) Close() {}

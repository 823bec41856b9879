//go:build !linux

package warden

import (
	"errors"
	"testing"
)

func TestNoWarden(t *testing.T) {
	t.Parallel()
	w := New(Config{})
	w.Add("a")
	w.Remove("a")
	if err := w.Start(); !errors.Is(err, errors.ErrUnsupported) || w.PID() != 0 {
		t.Errorf("Start: %v, process %d; want an error that says that there is no warden", err, w.PID())
	}
	w.Close()
}

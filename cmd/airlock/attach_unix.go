//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
)

// notifySize has a channel told when the size of our terminal changes.
func notifySize(changes chan<- os.Signal) { signal.Notify(changes, syscall.SIGWINCH) }

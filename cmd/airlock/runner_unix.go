//go:build unix

package main

import (
	"os"
	"syscall"

	"github.com/airlock-exec/airlock/protocol"
)

// Signals that are treated with more care than others of their kind.
const (
	hangupSignal = syscall.SIGHUP
	quitSignal   = syscall.SIGQUIT
)

// signalUses are the signals that concern the command.
var signalUses = []signalUse{
	{os.Interrupt, interrupts, ""},
	{syscall.SIGTERM, ends, ""},
	{syscall.SIGHUP, ends, ""},
	{syscall.SIGQUIT, passes, protocol.SignalQUIT},
	{syscall.SIGUSR1, passes, protocol.SignalUSR1},
	{syscall.SIGUSR2, passes, protocol.SignalUSR2},
	{syscall.SIGWINCH, resizes, protocol.SignalWINCH},
	{syscall.SIGTSTP, stops, ""},
	{syscall.SIGCONT, continues, ""},
}

package main

import (
	"os"
	"syscall"
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
}

//go:build !linux

package main

import (
	"os"
	"syscall"
)

// Terminals and memory figures are read the Linux way only.

func serverAttributes() *syscall.SysProcAttr { return nil }

func terminalAttributes() *syscall.SysProcAttr { return nil }

func openPTY() (master, slave *os.File, err error) { return nil, nil, errNotAvailable }

func residentBytes(int) (float64, error) { return 0, errNotAvailable }

func treeResidentBytes(int) (float64, error) { return 0, errNotAvailable }

func peakBytes(int) (float64, error) { return 0, errNotAvailable }

func resetPeak(int) error { return errNotAvailable }

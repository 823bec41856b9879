//go:build !linux

package main

import (
	"os"
	"syscall"
)

// Terminals, namespaces and memory figures are had the Linux way only.

func serverAttributes() *syscall.SysProcAttr { return nil }

func terminalAttributes() *syscall.SysProcAttr { return nil }

func namespaceAttributes(int, int) (*syscall.SysProcAttr, error) { return nil, errNotAvailable }

func setQuickAck(uintptr) {}

func openPTY() (master, slave *os.File, err error) { return nil, nil, errNotAvailable }

func residentBytes(int) (float64, error) { return 0, errNotAvailable }

func treeResidentBytes(int) (float64, error) { return 0, errNotAvailable }

func residentBetween(int, string) (float64, int, error) { return 0, 0, errNotAvailable }

func peakBytes(int) (float64, error) { return 0, errNotAvailable }

func resetPeak(int) error { return errNotAvailable }

func describeSystem() (kernel, cpu string, load float64) { return "", "", 0 }

func readUsage() (usage, error) { return usage{}, errNotAvailable }

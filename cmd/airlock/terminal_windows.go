package main

import (
	"os"
	"time"
)

// There is no background.
func awaitForeground(*os.File) error { return nil }
func inForeground(*os.File) bool     { return true }
func stopGroup()                     {}
func stopSelf()                      {}
func awaitKeys(*os.File) error       { return nil }

// sizeInterval is between looks at the size of the terminal.
const sizeInterval = 500 * time.Millisecond

// sizeTicks is for where no signal tells that a terminal's size has changed.
func sizeTicks() (ticks <-chan time.Time, stop func()) {
	ticker := time.NewTicker(sizeInterval)
	return ticker.C, ticker.Stop
}

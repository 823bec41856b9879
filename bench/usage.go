package main

import "time"

// usage is processor time, of all cores together, since some moment in the past.
type usage struct {
	total time.Duration // that there was, idle or not
	busy  time.Duration // that was used, or taken by the host of a virtual machine
	own   time.Duration // used by this program and by those it has started and reaped
}

// crowdedShare is how much of the machine others may use before timings are not
// judged any more. Two programs that share the cores with a third do not lose
// alike: the one with more threads to wake loses more.
const crowdedShare = 0.25

// othersShare is the share of the machine that others used between two moments.
func othersShare(before, after usage) float64 {
	total := after.total - before.total
	if total <= 0 {
		return 0
	}
	others := (after.busy - before.busy) - (after.own - before.own)
	return max(0, float64(others)/float64(total))
}

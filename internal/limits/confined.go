package limits

import "time"

// What confined processes may take. Airlock's own.
const (
	// Denials bounds how many different ones are kept of what a process has tried
	// and was not let do; beyond it only those are counted that are known.
	Denials = 256
	// PreparedPerCore bounds how many helpers wait for a task, for each processor.
	// Each of them takes a few megabytes; more would not help, as they are made
	// faster than a host can start commands.
	PreparedPerCore = 4
)

// Times of these.
const (
	// SetupTimeout bounds how long a helper may take until it executes the program,
	// on a busy machine. Then it is killed, which is a failure of the set-up.
	SetupTimeout = 30 * time.Second
	// PreparedIdle is how long helpers are kept waiting when nothing is started.
	PreparedIdle = time.Minute
	// PreparedReview is how often it is looked whether fewer would do.
	PreparedReview = 15 * time.Second
	// PointLockTimeout bounds how long a start waits for another program that is
	// about to remove a mount point, which takes no time.
	PointLockTimeout = 2 * time.Second
)

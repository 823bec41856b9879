package doctor

import "github.com/airlock-exec/airlock/internal/spawn/tree"

// host is the machine as probes see it; tests make up others. A probe reads
// files below root and does everything else by these functions, so that what it
// makes of the outcome can be tested with any outcome.
type host struct {
	root string // what the paths of the system's files are below; empty for the real ones
	uid  int    // the effective user
	temp string // the folder for temporary files
	env  func(name string) string

	// openTerminal opens a terminal and passes something through it.
	openTerminal func() error
	// openTrees opens the strongest means to hold trees together, and closes it.
	openTrees func() (means tree.Means, why string, err error)
	// openTemp makes a temporary file, writes to it, and removes it.
	openTemp func(folder string) (tempFile, error)
	// listen makes a private folder in a folder, listens on a socket in it,
	// connects to that, and removes both.
	listen func(folder string) error
	// free returns the bytes that are free in a folder for this user.
	free func(folder string) (uint64, error)
	// descriptors returns how many files this program may have open.
	descriptors func() (uint64, error)

	system // what only this system has
}

// tempFile is how a temporary file could be made.
type tempFile struct {
	nameless bool // it never had a name
	reserved bool // room on the disk could be reserved for it
}

//go:build linux || windows

package tree

import "time"

// killTime bounds how long [Tree.Kill] and the end of a keeper wait for the
// death of what they have killed.
const killTime = 2 * time.Second

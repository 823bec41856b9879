package spawn

import "os"

// Lifeline has every helper that is started from now on hold a file open as long as
// it lives, in the way of a child that inherits it: with it, a lock on the file is
// held until all that was confined is dead, also when this program is killed first.
// No program that is confined gets it. The file stays the caller's, who may close it
// when the Spawner has been closed.
func (s *Spawner) Lifeline(file *os.File) { s.system.lifeline.Store(file) }

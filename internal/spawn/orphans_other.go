//go:build unix && !linux

package spawn

// orphans does nothing: here this program does not become the parent of others'
// children.
type orphans struct{}

func (*orphans) start()                         {}
func (*orphans) close()                         {}
func (*orphans) forking() (done func(c *child)) { return func(*child) {} }

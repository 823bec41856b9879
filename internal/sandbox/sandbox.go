// Package sandbox is the model of confinement. A client's policy says which files
// may be read and written, and whether there is a network; [Resolve] turns it into
// a [Plan]: what has to be mounted, hidden and filtered on this host, in which
// order. It looks at the host's file system through a [Host], and changes nothing.
// A [Backend] enforces plans, in full or not at all.
//
// Which entry of a policy decides about a path: the one with the longest path that
// contains it; of several with the same path deny before write before read. What
// no entry contains can't be read. [Explain] tells it for one path.
package sandbox

import "github.com/airlock-exec/airlock/protocol"

// Access is what an operation does to files.
type Access int

// What there is. A copy does both.
const (
	Read  Access = 1 << iota // looks at files or directories
	Write                    // makes, changes or removes them
)

// Confines tells whether there are files that an operation must not reach, so that
// it has to be confined.
func Confines(c *protocol.SandboxContext, access Access) bool {
	if c == nil || c.Permissions.Type != protocol.PermissionsManaged {
		return false
	}
	files := c.Permissions.FileSystem
	return files.Type != protocol.FileSystemUnrestricted && !leavesAll(files, access)
}

// leavesAll tells whether the root may be accessed, and nothing is taken away
// from that.
func leavesAll(f *protocol.FileSystemPolicy, access Access) bool {
	root := false
	for _, e := range f.Entries {
		isRoot := e.Path.Type == protocol.SandboxPathSpecial && e.Path.Value.Kind == protocol.SpecialRoot
		switch {
		case e.Access == protocol.AccessWrite:
			root = root || isRoot
		case e.Access == protocol.AccessRead && access&Write == 0:
			root = root || isRoot
		default:
			return false // something can't be accessed, or not be written
		}
	}
	return root
}

// CheckFiles returns an error unless an operation on files may be carried out
// without a confinement.
func CheckFiles(c *protocol.SandboxContext, access Access) error {
	if Confines(c, access) {
		return protocol.Errorf(protocol.CodeInvalidRequest, "filesystem sandbox cannot be enforced on this executor: "+
			"it has no sandbox; ask for it without `sandbox`, or use an executor that has one")
	}
	return nil
}

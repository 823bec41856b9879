// Package sandbox is the model of confinement: what a client asks for, and what
// of it has to be enforced. Nothing enforces it yet, so that whatever restricts
// anything is refused.
package sandbox

import (
	"errors"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/airlock-exec/airlock/protocol"
)

// Access is what an operation does to files.
type Access int

// What there is. A copy does both.
const (
	Read  Access = 1 << iota // looks at files or directories
	Write                    // makes, changes or removes them
)

// context is what a client says of a confinement.
type context struct {
	Permissions profile `json:"permissions"`
}

// profile is a tagged union: what there must be depends on the type.
type profile struct {
	Type       profileType `json:"type"`
	FileSystem *fileSystem `json:"file_system"`
	Network    *string     `json:"network"`
}

type profileType string

type fileSystem struct {
	Type    string  `json:"type"`
	Entries []entry `json:"entries" wire:"optional"`
}

type entry struct {
	Path struct {
		Type  string `json:"type"`
		Value *struct {
			Kind string `json:"kind"`
		} `json:"value"`
	} `json:"path"`
	Access string `json:"access"`
}

// CheckFiles returns an error unless an operation on files may be carried out
// without a confinement, as none is asked for, or one that leaves it all files.
// The error of what makes no sense is that of parameters that do not decode.
func CheckFiles(raw jsontext.Value, access Access) error {
	if len(raw) == 0 || raw.Kind() == 'n' {
		return nil
	}
	asked, err := protocol.Decode[context](raw)
	if err != nil {
		return err
	}
	confined, err := asked.Permissions.confines(access)
	switch {
	case err != nil:
		return protocol.Errorf(protocol.CodeInvalidParams, "`sandbox.permissions`: %v", err)
	case confined:
		return protocol.Errorf(protocol.CodeInvalidRequest, "filesystem sandbox cannot be enforced on this executor: "+
			"it has no sandbox; ask for it without `sandbox`, or use an executor that has one")
	}
	return nil
}

// confines tells whether there are files that an operation must not reach.
func (p *profile) confines(access Access) (bool, error) {
	switch p.Type {
	case "disabled", "external":
		return false, nil
	case "managed":
	default:
		return false, errors.New("unknown variant `" + string(p.Type) +
			"`, expected one of `managed`, `disabled`, `external`")
	}
	switch {
	case p.FileSystem == nil:
		return false, errors.New("missing field `file_system`")
	case p.FileSystem.Type == "unrestricted":
		return false, nil
	}
	return !p.FileSystem.leavesAll(access), nil
}

// leavesAll tells whether the root may be accessed, and nothing is taken away
// from that.
func (f *fileSystem) leavesAll(access Access) bool {
	root := false
	for _, e := range f.Entries {
		isRoot := e.Path.Type == "special" && e.Path.Value != nil && e.Path.Value.Kind == "root"
		switch {
		case e.Access == "write":
			root = root || isRoot
		case e.Access == "read" && access&Write == 0:
			root = root || isRoot
		default:
			return false // something can't be accessed, or not be written
		}
	}
	return root
}

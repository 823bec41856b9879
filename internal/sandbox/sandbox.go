// Package sandbox is the model of confinement: what a client asks for, and what
// of it has to be enforced. Nothing enforces it yet, so that whatever restricts
// anything is refused.
package sandbox

import (
	"errors"
	"fmt"
	"slices"
	"strings"

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

// context is what a client says of a confinement. Members that only matter to
// whoever enforces it are left out.
type context struct {
	Permissions         profile `json:"permissions"`
	SandboxOverride     string  `json:"sandboxOverride" wire:"optional"`
	WindowsSandboxLevel string  `json:"windowsSandboxLevel"`
}

// profile is a tagged union: what there must be depends on the type.
type profile struct {
	Type       string      `json:"type"`
	FileSystem *fileSystem `json:"file_system"`
	Network    *string     `json:"network"`
}

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
	if err := asked.check(); err != nil {
		return protocol.Errorf(protocol.CodeInvalidParams, "%v", err)
	}
	if asked.Permissions.confines(access) {
		return protocol.Errorf(protocol.CodeInvalidRequest, "filesystem sandbox cannot be enforced on this executor: "+
			"it has no sandbox; ask for it without `sandbox`, or use an executor that has one")
	}
	return nil
}

// check returns what makes no sense, in the words that clients know.
func (c *context) check() error {
	if err := c.Permissions.check(); err != nil {
		return err
	}
	if c.SandboxOverride != "" {
		err := oneOf(c.SandboxOverride, "noOverride", "escalatedSandboxWithRestrictions", "bypassSandboxFirstAttempt")
		if err != nil {
			return err
		}
	}
	return oneOf(c.WindowsSandboxLevel, "disabled", "restricted-token", "elevated", "mxc")
}

func (p *profile) check() error {
	if err := oneOf(p.Type, "managed", "disabled", "external"); err != nil || p.Type == "disabled" {
		return err
	}
	switch {
	case p.Type == "managed" && p.FileSystem == nil:
		return errors.New("missing field `file_system`")
	case p.Network == nil:
		return errors.New("missing field `network`")
	}
	return oneOf(*p.Network, "restricted", "enabled")
}

// oneOf returns an error if a value is none of those that there may be.
func oneOf(value string, known ...string) error {
	if slices.Contains(known, value) {
		return nil
	}
	list, join := "one of `", "`, `"
	if len(known) == 2 {
		list, join = "`", "` or `"
	}
	return fmt.Errorf("unknown variant `%.100s`, expected %s`", value, list+strings.Join(known, join))
}

// confines tells whether there are files that an operation must not reach.
func (p *profile) confines(access Access) bool {
	return p.Type == "managed" && p.FileSystem.Type != "unrestricted" && !p.FileSystem.leavesAll(access)
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

package confined

import (
	"strings"

	"github.com/airlock-exec/airlock/protocol"
)

// Check judges what can be judged of the parameters of an operation, a pointer,
// before all else, and whether or not it has to be confined: a policy that speaks of
// the directory it is about has to come with one.
func Check(params any) error {
	at := asked(params)
	if at == nil || *at == nil || (*at).Permissions.FileSystem == nil {
		return nil
	}
	c := *at
	if c.CWD != nil || c.PolicyContext != nil && c.PolicyContext.CWD != nil {
		return nil
	}
	for i := range c.Permissions.FileSystem.Entries {
		if isDynamic(&c.Permissions.FileSystem.Entries[i].Path) {
			return protocol.Errorf(protocol.CodeInvalidParams,
				"file system sandbox context with dynamic permissions requires cwd")
		}
	}
	return nil
}

// isDynamic tells whether a path depends on the directory of the policy.
func isDynamic(p *protocol.SandboxPath) bool {
	switch {
	case p.Pattern != nil:
		return !strings.HasPrefix(*p.Pattern, "/")
	case p.Value != nil:
		return p.Value.Kind == protocol.SpecialProjectRoots || p.Value.Kind == protocol.SpecialCurrentDirectory
	}
	return false
}

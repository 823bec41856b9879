package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/airlock-exec/airlock/protocol"
)

// policyFlags say what a command is confined to. They make up the policy, or name
// a file that holds one.
type policyFlags struct {
	ReadOnly       bool     `group:"sandbox" help:"Let it read all files and write none, which is what holds unless other flags say more."`
	WorkspaceWrite []string `sep:"none" group:"sandbox" placeholder:"DIR" complete:"dir" help:"Let it write below this directory and in those for temporary files. May be given more than once. In each of them .git, .agents, .codex and .aws stay read-only, unless --write names them."`
	Write          []string `sep:"none" group:"sandbox" placeholder:"PATH" complete:"file" help:"Let it write this file, or all below this directory. May be given more than once."`
	Read           []string `sep:"none" group:"sandbox" placeholder:"PATH" complete:"file" help:"Let it only read this, where it may write around it or, with --minimal, not read. May be given more than once."`
	Deny           []string `sep:"none" group:"sandbox" placeholder:"PATH" complete:"file" help:"Let it neither read nor write this file, all below this directory, or the files that match this pattern. A pattern is what has any of *, ? and [ in it; ** stands for any directories. Only files that are there when the command starts are matched. May be given more than once."`
	Minimal        bool     `group:"sandbox" help:"Let it read only programs and libraries of the system, and what other flags name."`
	NoTmp          bool     `group:"sandbox" help:"Let it not write in the directories for temporary files, in spite of --workspace-write."`
	Net            *string  `enum:"off,on" group:"sandbox" placeholder:"off|on" help:"Give it the network of the host, or no network but a loopback of its own (default off)."`
	Policy         string   `group:"sandbox" placeholder:"FILE" complete:"file" help:"Take the policy from this JSON file, in place of these flags. It holds a sandbox as process/start takes it, or the permissions of one."`
}

// given tells whether any flag was.
func (p *policyFlags) given() bool { return p.Policy != "" || p.anyPart() }

// anyPart tells whether any flag was given that makes up a policy.
func (p *policyFlags) anyPart() bool {
	return p.ReadOnly || p.Minimal || p.NoTmp || p.Net != nil ||
		len(p.WorkspaceWrite)+len(p.Write)+len(p.Read)+len(p.Deny) > 0
}

// checkPolicy refuses flags that contradict each other.
func (p *policyFlags) checkPolicy() error {
	switch {
	case p.Policy != "" && p.anyPart():
		return errors.New("--policy is a whole policy: leave out the other flags of the sandbox, or the file")
	case p.ReadOnly && len(p.WorkspaceWrite) > 0:
		return errors.New("--read-only and --workspace-write contradict each other: leave one out")
	case p.ReadOnly && len(p.Write) > 0:
		return errors.New("--read-only and --write contradict each other: leave one out")
	case p.NoTmp && len(p.WorkspaceWrite) == 0:
		return errors.New("--no-tmp only makes sense with --workspace-write, " +
			"as nothing else lets the directories for temporary files be written")
	}
	return nil
}

// policyPlace is what the paths in flags refer to.
type policyPlace struct {
	// dir is this directory, where relative paths begin; it is nil if the files are
	// those of another machine.
	dir *protocol.PathURI
	// work is where the command runs.
	work protocol.PathURI
}

// sandbox returns the policy as it travels.
func (p *policyFlags) sandbox(place policyPlace) (*protocol.SandboxContext, error) {
	if err := p.checkPolicy(); err != nil {
		return nil, err
	}
	if p.Policy != "" {
		return readPolicy(p.Policy, place.work)
	}
	network := protocol.NetworkRestricted
	if p.Net != nil && *p.Net == "on" {
		network = protocol.NetworkEnabled
	}
	base := protocol.SpecialRoot
	if p.Minimal {
		base = protocol.SpecialMinimal
	}
	s := protocol.RestrictedSandbox(network, protocol.SpecialEntry(base, protocol.AccessRead))
	s.CWD = place.dir
	entries := &s.Permissions.FileSystem.Entries
	for _, dir := range p.WorkspaceWrite {
		root, err := place.existing("workspace-write", dir, true)
		if err != nil {
			return nil, err
		}
		s.WorkspaceRoots = append(s.WorkspaceRoots, root)
	}
	if s.WorkspaceRoots != nil {
		*entries = append(*entries, protocol.SpecialEntry(protocol.SpecialProjectRoots, protocol.AccessWrite))
		if !p.NoTmp {
			*entries = append(*entries,
				protocol.SpecialEntry(protocol.SpecialSlashTmp, protocol.AccessWrite),
				protocol.SpecialEntry(protocol.SpecialTmpdir, protocol.AccessWrite))
		}
	}
	more, err := p.paths(place)
	if err != nil {
		return nil, err
	}
	*entries = append(*entries, more...)
	return s, nil
}

// paths returns the entries of the flags that name paths.
func (p *policyFlags) paths(place policyPlace) (entries []protocol.SandboxEntry, err error) {
	said := map[string]string{} // which flag has named a path
	for _, flag := range []struct {
		name   string
		paths  []string
		access protocol.SandboxAccess
	}{
		{"write", p.Write, protocol.AccessWrite},
		{"read", p.Read, protocol.AccessRead},
		{"deny", p.Deny, protocol.AccessDeny},
	} {
		for _, text := range flag.paths {
			if text == "" {
				return nil, fmt.Errorf("--%s: the path is empty", flag.name)
			}
			if flag.access == protocol.AccessDeny && isPattern(text) {
				entries = append(entries, protocol.GlobEntry(text, flag.access))
				if place.missing(text) {
					continue
				}
				// It is the name of a file as well, which the pattern need not match.
			}
			if isPattern(text) && place.missing(text) {
				return nil, fmt.Errorf("--%s %s: patterns are for --deny only, and there is no file of this name", flag.name, text)
			}
			var path protocol.PathURI
			if flag.access == protocol.AccessWrite {
				path, err = place.existing(flag.name, text, false)
			} else {
				path, err = place.path(flag.name, text)
			}
			if err != nil {
				return nil, err
			}
			if other := said[path.String()]; other != "" && other != flag.name {
				return nil, fmt.Errorf("--%s and --%s contradict each other about %s: leave one out", other, flag.name, text)
			}
			said[path.String()] = flag.name
			entries = append(entries, protocol.PathEntry(path, flag.access))
		}
	}
	return entries, nil
}

// isPattern tells whether a text has what makes a pattern.
func isPattern(text string) bool {
	return strings.ContainsAny(text, "*?[") && !strings.HasPrefix(text, "file:")
}

// path returns the path that a flag names.
func (place policyPlace) path(flag, text string) (protocol.PathURI, error) {
	switch {
	case text == "":
		return protocol.PathURI{}, fmt.Errorf("--%s: the path is empty", flag)
	case strings.HasPrefix(text, "file:"):
		return protocol.ParsePathURI(text)
	case place.dir != nil:
		path, err := filepath.Abs(text)
		if err != nil {
			return protocol.PathURI{}, fmt.Errorf("--%s %s: %w", flag, text, err)
		}
		return protocol.PathURIFromNative(path)
	case !filepath.IsAbs(text):
		return protocol.PathURI{}, fmt.Errorf("--%s %s: with --url, expected an absolute path or a file: URI", flag, text)
	}
	return protocol.PathURIFromNative(text)
}

// existing returns the path that a flag names. If it is one of this machine it has
// to be there: a root to write below that is missing would be left out silently.
func (place policyPlace) existing(flag, text string, directory bool) (protocol.PathURI, error) {
	path, err := place.path(flag, text)
	if err != nil || place.dir == nil {
		return path, err
	}
	native, err := path.Native()
	if err != nil {
		return path, fmt.Errorf("--%s: %w", flag, err)
	}
	switch status, err := os.Stat(native); {
	case err != nil:
		return path, fmt.Errorf("--%s: %w: make it first, so that there is something to be written", flag, err)
	case directory && !status.IsDir():
		return path, fmt.Errorf("--%s: %s is not a directory: use --write for a single file", flag, native)
	}
	return path, nil
}

// missing tells whether there is no file of this name, as far as that can be told
// from here.
func (place policyPlace) missing(text string) bool {
	if place.dir == nil {
		return true
	}
	_, err := os.Lstat(text)
	return err != nil
}

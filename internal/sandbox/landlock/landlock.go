// Package landlock says what of a confinement can be had by Landlock, the Linux
// security module that programs confine themselves with, without any privilege.
//
// Its rules only ever grant: all below a directory has what the directory has. So a
// plan that takes away something below what it grants can't be expressed, and is
// an error; nothing is left out silently.
package landlock

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/airlock-exec/airlock/internal/helper/plan"
	"github.com/airlock-exec/airlock/internal/sandbox"
)

// Rights of the kernel's linux/landlock.h.
const (
	execute   = 1 << 0
	writeFile = 1 << 1
	readFile  = 1 << 2
	readDir   = 1 << 3
	removeDir = 1 << 4
	removeAny = 1 << 5
	makeAny   = 1<<7 | 1<<8 | 1<<9 | 1<<10 | 1<<12 // directory, file, socket, FIFO, link
	refer     = 1 << 13
	truncate  = 1 << 14
	ioctlDev  = 1 << 15

	allFiles = 1<<15 - 1 // without ioctlDev, which is younger; with the making of devices
	reading  = execute | readFile | readDir
	writing  = writeFile | removeDir | removeAny | makeAny | refer | truncate

	bindTCP    = 1 << 0
	connectTCP = 1 << 1

	scopeAbstract = 1 << 0
	scopeSignal   = 1 << 1
)

// Oldest is the version of Landlock that expressing a plan takes: older ones let
// programs send signals to all processes of the user. Linux has it since 6.12.
const Oldest = 6

// devices are those that every program may use. There are no terminals but the
// one that a program already has.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"}

// Express returns the rules that enforce a plan on a kernel with this version of
// Landlock, together with a filter of system calls; nil if files and processes
// are not to be confined. The error says what of the plan can't be expressed.
func Express(p *sandbox.Plan, abi int) (*plan.Landlock, error) {
	return express(p, abi, sandbox.OS())
}

func express(p *sandbox.Plan, abi int, host sandbox.Host) (*plan.Landlock, error) {
	switch {
	case p.Network == sandbox.NetworkManaged:
		return nil, errors.New("a managed network takes a network namespace; Landlock can't lead programs to proxies")
	case p.Kind != sandbox.Isolated:
		return nil, nil
	case abi <= 0:
		return nil, errors.New("the kernel has no Landlock, or it is switched off: boot with lsm=landlock,… " +
			"(CONFIG_SECURITY_LANDLOCK)")
	case abi < Oldest:
		return nil, fmt.Errorf("a Landlock of version %d can't keep programs from sending signals to other processes: "+
			"that takes version %d, of Linux 6.12", abi, Oldest)
	}
	g, err := grantsOf(p)
	if err != nil {
		return nil, err
	}
	l := &plan.Landlock{HandledFiles: allFiles | ioctlDev, Scoped: scopeSignal}
	if !p.Sockets.All && !p.Sockets.Abstract {
		l.Scoped |= scopeAbstract
	}
	if p.Network != sandbox.NetworkOpen {
		l.HandledNetwork = bindTCP | connectTCP
	}
	for _, grant := range g {
		rules, err := grant.rules(host)
		if err != nil {
			return nil, err
		}
		l.Rules = append(l.Rules, rules...)
	}
	for _, device := range devices {
		if _, err := host.Lstat(device); err == nil {
			l.Rules = append(l.Rules, plan.LandlockRule{Path: device, Rights: readFile | writeFile | truncate | ioctlDev})
		}
	}
	return l, nil
}

// grant is what may be done with all below a path.
type grant struct {
	path   string
	access sandbox.Access
}

// grantsOf goes through the steps that a root is built in, and collects what each
// gives. It fails at the first that takes something away.
func grantsOf(p *sandbox.Plan) ([]grant, error) {
	var all []grant
	switch p.Base {
	case plan.ReadOnly:
		all = append(all, grant{"/", sandbox.Read})
	case plan.Writable:
		all = append(all, grant{"/", sandbox.Read | sandbox.Write})
	case plan.Nothing:
	default:
		return nil, fmt.Errorf("there is no base %d", p.Base)
	}
	for _, m := range p.Mounts {
		before := accessTo(all, m.Path)
		var after sandbox.Access
		switch m.Kind {
		case plan.BindReadOnly:
			after = sandbox.Read
		case plan.BindWritable:
			after = sandbox.Read | sandbox.Write
		case plan.Link:
			continue // the host has it
		case plan.CoverDirectory, plan.CoverFile, plan.CoverLink:
		default:
			return nil, fmt.Errorf("there is no mount of kind %d", m.Kind)
		}
		if missing := before &^ after; missing != 0 {
			return nil, takenAway(m.Path, missing)
		}
		for _, g := range all {
			if isBelow(g.path, m.Path) && g.access&^after != 0 {
				return nil, takenAway(g.path, g.access&^after)
			}
		}
		if after != before {
			all = append(all, grant{m.Path, after})
		}
	}
	return all, nil
}

func takenAway(path string, access sandbox.Access) error {
	if access&sandbox.Write != 0 {
		return fmt.Errorf("by Landlock %s can't be kept from being made or changed: what is above it may be written", path)
	}
	return fmt.Errorf("by Landlock %s can't be hidden: what is above it may be read", path)
}

// accessTo returns what may be done with a path: what all that is granted to it,
// or above it, allows together.
func accessTo(all []grant, path string) (access sandbox.Access) {
	for _, g := range all {
		if isBelow(path, g.path) {
			access |= g.access
		}
	}
	return access
}

// isBelow tells whether a path is another one, or below it.
func isBelow(path, top string) bool {
	rest, ok := strings.CutPrefix(path, strings.TrimSuffix(top, "/"))
	return ok && (rest == "" || rest[0] == '/')
}

// maxTop is how many files and directories the root of a host may have.
const maxTop = 1000

// rules returns the rules for a grant. That of all files is not one for the root:
// the devices of the host are not among them, and neither can what the kernel shows
// of itself be written. But the names of all directories can be listed.
func (g grant) rules(host sandbox.Host) ([]plan.LandlockRule, error) {
	rights := uint64(reading)
	if g.access&sandbox.Write != 0 {
		rights |= writing
	}
	if g.path != "/" {
		return []plan.LandlockRule{{Path: g.path, Rights: rights}}, nil
	}
	rules := []plan.LandlockRule{{Path: "/", Rights: readDir}}
	err := host.ReadDir("/", func(entry fs.DirEntry) error {
		rule := plan.LandlockRule{Path: path.Join("/", entry.Name()), Rights: rights}
		switch {
		case len(rules) > maxTop:
			return fmt.Errorf("it has more than %d files", maxTop)
		case rule.Path == "/dev", entry.Type()&^fs.ModeDir != 0: // a link leads to one of the others
			return nil
		case rule.Path == "/proc", rule.Path == "/sys":
			rule.Rights = reading
		}
		rules = append(rules, rule)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list the root of the host: %w", err)
	}
	return rules, nil
}

// Scopes returns what Landlock adds to namespaces: sockets without a path belong
// to a network namespace, and where a program is in that of the host, it could
// reach those of the host. It is nil if there is nothing to add, or the kernel has
// nothing to add it with; then only the judgement of connections is left.
func Scopes(abi int, p *sandbox.Plan) *plan.Landlock {
	if abi < Oldest || p.Kind != sandbox.Isolated || p.Network != sandbox.NetworkOpen ||
		p.Sockets.All || p.Sockets.Abstract {
		return nil
	}
	return &plan.Landlock{Scoped: scopeAbstract}
}

package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/airlock-exec/airlock/internal/limits"
)

var errLinks = fmt.Errorf("more than %d symbolic links", limits.SandboxLinks)

// place is where a path leads on the host.
type place struct {
	// real is the path without links. What is not there stands at its end as it was
	// asked for.
	real string
	// there is how much of real is there: real itself, or what of it contains the
	// rest.
	there string
	// info is what is known about there.
	info fs.FileInfo
	// shut tells that what is there can't be looked into, or is no directory, so that
	// nothing is known about the rest.
	shut bool
	// crossed are the links on the way.
	crossed []link
}

// link is a symbolic link.
type link struct {
	path   string // its own, free of other links
	target string
}

// missing tells that the path leads to nothing.
func (p *place) missing() bool { return p.there != p.real }

func (p *place) directory() bool { return !p.missing() && p.info.IsDir() }

// ending returns what is left of a path behind something that is not there, from where
// no way leads back.
func ending(first string, rest []string) string {
	if back := slices.Index(rest, ".."); back >= 0 {
		rest = rest[:back]
	}
	return path.Join(append([]string{first}, rest...)...)
}

// first returns the first part of the path that is not there.
func (p *place) first() string {
	name, _, _ := strings.Cut(below(p.real, p.there), "/")
	return join(p.there, name)
}

// locate follows a clean absolute path. It fails only if there is no telling where
// that leads: at links without end, and at a disk that can't be read.
func locate(host Host, name string) (*place, error) {
	root, err := host.Lstat("/")
	if err != nil {
		return nil, err
	}
	p := &place{real: "/", there: "/", info: root}
	rest := strings.Split(strings.TrimPrefix(name, "/"), "/")
	for len(rest) > 0 {
		component := rest[0]
		rest = rest[1:]
		switch component {
		case "", ".":
			continue
		case "..":
			p.real = parent(p.real)
			p.there = p.real
			if p.info, err = host.Lstat(p.real); err != nil {
				return nil, err
			}
			continue
		}
		if !p.info.IsDir() {
			p.shut = true
			p.real = ending(join(p.real, component), rest)
			return p, nil
		}
		next := join(p.real, component)
		info, err := host.Lstat(next)
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, fs.ErrPermission):
			p.shut = errors.Is(err, fs.ErrPermission)
			p.real = ending(next, rest)
			return p, nil
		case err != nil:
			return nil, err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			p.real, p.there, p.info = next, next, info
			continue
		}
		target, err := host.Readlink(next)
		if err != nil {
			return nil, err
		}
		if p.crossed = append(p.crossed, link{next, target}); len(p.crossed) > limits.SandboxLinks {
			return nil, fmt.Errorf("%s leads through %w", name, errLinks)
		}
		rest = append(strings.Split(target, "/"), rest...)
		if strings.HasPrefix(target, "/") {
			p.real, p.there, p.info = "/", "/", root
		}
	}
	return p, nil
}

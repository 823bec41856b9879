package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/airlock-exec/airlock/internal/files/fault"
	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/internal/sandbox"
	"github.com/airlock-exec/airlock/protocol"
)

// These texts are the dialect's.
var (
	errNotRegular = protocol.Errorf(protocol.CodeInvalidRequest, "path is not a regular file")
	errLink       = protocol.Errorf(protocol.CodeInvalidRequest, "path contains a symbolic link")
	errNoEntry    = protocol.Errorf(protocol.CodeInvalidRequest, "path must name an entry")
)

// errPipe is what Linux says of a pipe that is opened to be written and that nobody
// reads.
var errPipe = fmt.Errorf("it is a pipe: %w", syscall.ENXIO)

func errNotFile(path string) error {
	return protocol.Errorf(protocol.CodeInvalidRequest, "path `%s` is not a file", path)
}

// status is what is known of a file.
type status struct {
	mode           fs.FileMode // kind and permissions
	size           uint64
	born, modified int64 // in milliseconds since 1970; born is 0 if it is not known
}

func (s *status) isLink() bool { return s.mode&fs.ModeSymlink != 0 }

// place is where a request says that something is: a name in a directory.
type place struct {
	dir    *dir // nil if the name is a path, whose symbolic links are followed
	name   string
	follow bool
	path   string
}

// locate finds a place, which must be closed. Without follow none of the
// directories may be a symbolic link.
func locate(path string, follow *bool) (*place, error) {
	p := &place{name: path, path: path, follow: follow == nil || *follow}
	if p.follow {
		return p, nil
	}
	parent, name := filepath.Split(path)
	at, err := walkDown(parent, func(*dir, string) error { return nil })
	if err != nil {
		return nil, err
	}
	p.dir, p.name = at, name
	return p, nil
}

// walkDown opens a directory without following any symbolic link. Before each
// part of the path is opened, reach is called.
func walkDown(path string, reach func(at *dir, name string) error) (*dir, error) {
	if len(path) >= limits.PathBytes {
		return nil, syscall.ENAMETOOLONG
	}
	top := filepath.VolumeName(path) + string(filepath.Separator)
	at, err := (*dir)(nil).pass(top)
	if err != nil {
		return nil, err
	}
	for name := range strings.SplitSeq(path[min(len(top), len(path)):], string(filepath.Separator)) {
		if name == "" {
			continue
		}
		next, err := at.step(name, reach)
		at.Close()
		if err != nil {
			return nil, err
		}
		at = next
	}
	return at, nil
}

func (d *dir) step(name string, reach func(at *dir, name string) error) (*dir, error) {
	if err := reach(d, name); err != nil {
		return nil, err
	}
	return d.pass(name)
}

// Close closes the directory of the place.
func (p *place) Close() {
	if p.dir != nil {
		p.dir.Close()
	}
}

// isTop tells whether a place is a root, without symbolic links followed, and so
// has no name in a directory.
func (p *place) isTop() bool { return p.dir != nil && p.name == "" }

// status returns what is there.
func (p *place) status(follow bool) (status, error) {
	if p.isTop() {
		return p.dir.status(".", false)
	}
	return p.dir.status(p.name, follow)
}

// open opens a regular file.
func (p *place) open(flags int) (*os.File, error) {
	switch {
	case p.isTop():
		return nil, errNoEntry
	case !p.follow:
		flags |= noFollow
	}
	file, err := p.dir.openFile(p.name, flags, 0o666)
	switch {
	case errors.Is(err, errPipe) && flags&os.O_WRONLY == 0:
		return nil, p.notFile()
	case err != nil:
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = p.notFile()
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

func (p *place) notFile() error {
	if p.follow {
		return errNotFile(p.path)
	}
	return errNotRegular
}

// openFile opens what has the name. It does not open pipes: who waits at the other
// end would be served, and find nobody there.
func (d *dir) openFile(name string, flags int, perm fs.FileMode) (*os.File, error) {
	if st, err := d.status(name, flags&noFollow == 0); err == nil && st.mode&fs.ModeNamedPipe != 0 {
		return nil, errPipe
	}
	return d.open(name, flags, perm)
}

// path returns the path on this system, if the request may do to it what it asks
// for.
func path(uri protocol.PathURI, confinement *protocol.SandboxContext, access sandbox.Access) (string, error) {
	if err := sandbox.CheckFiles(confinement, access); err != nil {
		return "", err
	}
	return fault.Native(uri)
}

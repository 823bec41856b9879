package sandbox

import (
	"fmt"
	"io/fs"
	"time"

	"github.com/airlock-exec/airlock/internal/limits"
)

// looker is a host that one request looks at: what it has seen once stays as it was,
// so that no two rules are about different things under the same name; and it does not
// look for ever.
type looker struct {
	Host
	until time.Time
	seen  map[string]seen
	held  int // bytes of the paths that have been seen
}

// seen is what was at a path.
type seen struct {
	info fs.FileInfo
	err  error
}

func look(host Host) *looker {
	return &looker{Host: host, until: time.Now().Add(limits.SandboxResolveTime), seen: make(map[string]seen)}
}

// errLate ends what takes too long.
var errLate = fmt.Errorf("the policy takes more than %v to be worked out on this host: "+
	"name fewer paths, or directories in place of patterns", limits.SandboxResolveTime)

func (l *looker) late() error {
	if time.Now().After(l.until) {
		return errLate
	}
	return nil
}

func (l *looker) Lstat(path string) (fs.FileInfo, error) {
	if s, ok := l.seen[path]; ok {
		return s.info, s.err
	}
	if err := l.late(); err != nil {
		return nil, err
	}
	info, err := l.Host.Lstat(path)
	if l.held += len(path); l.held <= limits.SandboxLookBytes {
		l.seen[path] = seen{info, err}
	}
	return info, err
}

func (l *looker) ReadDir(path string, each func(fs.DirEntry) error) error {
	return l.Host.ReadDir(path, func(e fs.DirEntry) error {
		if err := l.late(); err != nil {
			return err
		}
		return each(e)
	})
}

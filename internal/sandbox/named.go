package sandbox

import (
	"io/fs"

	"github.com/airlock-exec/airlock/protocol"
)

// CheckPaths returns the error of [Resolve], of a command, for what is wrong with a
// context on any host: paths of another system, or too many of them.
func CheckPaths(c *protocol.SandboxContext) error {
	r := &resolver{request: Request{Context: c, Dir: "/"}, host: look(nowhere{})}
	g, err := r.ground()
	if err != nil || c.Permissions.FileSystem == nil || c.Permissions.FileSystem.Type == protocol.FileSystemUnrestricted {
		return err
	}
	_, err = r.bind(g)
	return err
}

// nowhere is a host that has nothing.
type nowhere struct{}

func (nowhere) Lstat(string) (fs.FileInfo, error)             { return nil, fs.ErrNotExist }
func (nowhere) Readlink(string) (string, error)               { return "", fs.ErrNotExist }
func (nowhere) ReadDir(string, func(fs.DirEntry) error) error { return fs.ErrNotExist }
func (nowhere) ReadFile(string, int) ([]byte, error)          { return nil, fs.ErrNotExist }

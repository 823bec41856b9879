//go:build unix

package control

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/airlock-exec/airlock/internal/limits"
)

// extension ends the names of control sockets.
const extension = ".sock"

// isOwnName tells the names that we give, PID.sock and PID-N.sock, from others: the
// folder may be one that other programs have sockets in.
func isOwnName(name string) bool {
	name, ok := strings.CutSuffix(name, extension)
	if !ok {
		return false
	}
	pid, more, several := strings.Cut(name, "-")
	return isNumber(pid) && (!several || isNumber(more))
}

func isNumber(text string) bool {
	return text != "" && text[0] != '0' && strings.Trim(text, "0123456789") == ""
}

// Find returns the control sockets of the user's executors: those in the folders
// where they are by default. Sockets that executors have left behind are
// removed. Folders that can't be trusted, or read, are told by the error, and do
// not keep the others from being looked at.
func Find() ([]string, error) {
	if !knowsPeers {
		return nil, fmt.Errorf("control sockets: %w", errors.ErrUnsupported)
	}
	uid := os.Geteuid()
	var found []string
	var faults []error
	for _, dir := range defaultFolders(uid) {
		live, err := findIn(dir, uid)
		found = append(found, live...)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			faults = append(faults, err)
		}
	}
	slices.Sort(found)
	return slices.Compact(found), errors.Join(faults...)
}

func findIn(dir string, uid int) ([]string, error) {
	folder, err := openFolder(dir, uid, false)
	if err != nil {
		return nil, err
	}
	defer folder.Close() // and unlocks it
	if lock(folder) == nil {
		return removeStale(dir), nil
	}
	// Not now; but one that is just being made may look as if nobody listened.
	return ownSockets(dir), nil
}

// ownSockets returns the paths of what look like control sockets.
func ownSockets(dir string) []string {
	entries, _ := os.ReadDir(dir) // with an error, those that could be read
	var paths []string
	for _, entry := range entries {
		if entry.Type() == os.ModeSocket && isOwnName(entry.Name()) {
			paths = append(paths, filepath.Join(dir, entry.Name()))
		}
	}
	return paths
}

// removeStale removes the sockets without an executor from a folder, which is
// locked, and returns the others.
func removeStale(dir string) []string {
	var live []string
	for _, path := range ownSockets(dir) {
		if !isStale(path) {
			live = append(live, path)
		} else {
			_ = os.Remove(path)
		}
	}
	return live
}

// isStale tells whether nobody listens at a socket. In doubt somebody does.
func isStale(path string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), limits.ControlProbeTimeout)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "unix", path)
	if err == nil {
		_ = conn.Close()
	}
	return errors.Is(err, unix.ECONNREFUSED)
}

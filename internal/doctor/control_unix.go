//go:build unix

package doctor

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

const controlPurpose = "for the socket by which airlock ps, attach, kill and top reach a running server of this user"

// controlFolder tells where a folder can be made that only this user gets at.
func (h *host) controlFolder() result {
	path, refused := h.socketFolder()
	if path == "" {
		var why []string
		for _, err := range refused {
			why = append(why, err.Error())
		}
		return result{
			status: Missing,
			found:  "there is no place for it; " + strings.Join(why, "; "),
			mend: "Set XDG_RUNTIME_DIR to a folder that belongs to this user with mode 0700 (a systemd login does: " +
				"`loginctl enable-linger` for one that nobody logs in to; in a unit, RuntimeDirectory=airlock), " +
				"or make the folder for temporary files one that this user can write to, or name a place by `airlock serve --control-socket`.",
		}
	}
	r := result{
		status: OK, found: "sockets can be made in " + path + ", and tell who connects",
		facts: map[string]any{"folder": path},
	}
	for _, err := range refused {
		r.found += "; not in " + err.Error()
	}
	return r
}

// socketFolder returns the folder for the control socket, the first of several
// that works here, and what is wrong with those before it. The folder need not
// be there yet.
func (h *host) socketFolder() (path string, refused []error) {
	for _, path := range h.socketFolders() {
		if err := h.trySocketFolder(path); err != nil {
			refused = append(refused, fmt.Errorf("%s: %w", path, err))
			continue
		}
		return path, refused
	}
	return "", refused
}

// socketFolders returns the folders that come into question, the best first: see
// package control, which has the same.
func (h *host) socketFolders() (paths []string) {
	id := strconv.Itoa(h.uid)
	if parent := h.env("XDG_RUNTIME_DIR"); filepath.IsAbs(parent) {
		paths = append(paths, filepath.Join(parent, "airlock"))
	}
	if h.uid == 0 {
		paths = append(paths, h.root+"/run/airlock")
	}
	if h.exists("/run/user/" + id) {
		paths = append(paths, h.root+"/run/user/"+id+"/airlock")
	}
	return append(paths, filepath.Join(h.temp, "airlock-"+id))
}

// longestSocket is how long the path of a socket may be everywhere.
const longestSocket = 103

// trySocketFolder listens in a folder, or where it would be made.
func (h *host) trySocketFolder(path string) error {
	if len(path)+len("/control.sock") > longestSocket {
		return errors.New("its path is too long for that of a socket")
	}
	if err := safeParent(filepath.Dir(path), h.uid); err != nil {
		return err
	}
	there, err := ownFolder(path, h.uid)
	if err != nil {
		return err
	}
	if !there {
		path = filepath.Dir(path)
	}
	return h.listen(path)
}

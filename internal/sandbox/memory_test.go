package sandbox

import (
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"testing/fstest"
)

// memory is a host that is not there. A name ends with a slash for a directory, holds
// " -> " for a link, or " = " for a file with a text.
type memory struct {
	nodes map[string]*fstest.MapFile
	shut  map[string]bool // can't be looked into
}

func newMemory(names ...string) *memory {
	m := &memory{nodes: map[string]*fstest.MapFile{"/": {Mode: fs.ModeDir | 0o755}}, shut: map[string]bool{}}
	for _, name := range names {
		link, target, isLink := strings.Cut(name, " -> ")
		file, text, isText := strings.Cut(name, " = ")
		switch {
		case isLink:
			m.put(link, &fstest.MapFile{Mode: fs.ModeSymlink, Data: []byte(target)})
		case isText:
			m.put(file, &fstest.MapFile{Mode: 0o644, Data: []byte(text)})
		case strings.HasSuffix(name, "/"):
			m.put(strings.TrimSuffix(name, "/"), &fstest.MapFile{Mode: fs.ModeDir | 0o755})
		default:
			m.put(name, &fstest.MapFile{Mode: 0o644, Data: []byte("x")})
		}
	}
	return m
}

func (m *memory) put(name string, node *fstest.MapFile) {
	for dir := parent(name); m.nodes[dir] == nil; dir = parent(dir) {
		m.nodes[dir] = &fstest.MapFile{Mode: fs.ModeDir | 0o755}
	}
	m.nodes[name] = node
}

// info is what the host tells of a node.
type info struct {
	fs.FileInfo
	name string
}

func (i info) Name() string { return i.name }

func (m *memory) Lstat(name string) (fs.FileInfo, error) {
	for dir := parent(name); name != "/"; dir = parent(dir) {
		if m.shut[dir] {
			return nil, &fs.PathError{Op: "lstat", Path: name, Err: fs.ErrPermission}
		}
		if dir == "/" {
			break
		}
	}
	node := m.nodes[name]
	if node == nil {
		return nil, &fs.PathError{Op: "lstat", Path: name, Err: fs.ErrNotExist}
	}
	stat, err := fs.Lstat(fstest.MapFS{"x": node}, "x")
	return info{stat, path.Base(name)}, err
}

func (m *memory) Readlink(name string) (string, error) {
	if node := m.nodes[name]; node != nil && node.Mode&fs.ModeSymlink != 0 {
		return string(node.Data), nil
	}
	return "", &fs.PathError{Op: "readlink", Path: name, Err: fs.ErrInvalid}
}

func (m *memory) ReadDir(name string, each func(fs.DirEntry) error) error {
	if m.shut[name] {
		return &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	for _, child := range slices.Sorted(maps.Keys(m.nodes)) {
		if child == "/" || parent(child) != name {
			continue
		}
		stat, err := m.Lstat(child)
		if err == nil {
			err = each(fs.FileInfoToDirEntry(stat))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (m *memory) ReadFile(name string, most int) ([]byte, error) {
	node := m.nodes[name]
	if node == nil || !node.Mode.IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: name, Err: fs.ErrInvalid}
	}
	return node.Data[:min(most, len(node.Data))], nil
}

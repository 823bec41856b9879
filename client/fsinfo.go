package client

import (
	"io/fs"
	"math"
	"time"

	"github.com/airlock-exec/airlock/protocol"
)

// FileInfo tells what is at a path. It implements [fs.FileInfo].
type FileInfo struct {
	name     string
	metadata protocol.FileMetadata
}

// Metadata returns all that the executor has told.
func (i *FileInfo) Metadata() protocol.FileMetadata { return i.metadata }

// Name implements [fs.FileInfo].
func (i *FileInfo) Name() string { return i.name }

// Size implements [fs.FileInfo].
func (i *FileInfo) Size() int64 { return int64(min(i.metadata.Size, math.MaxInt64)) }

// Mode tells the type. What the permission bits are is not known: they are those
// that reading takes.
func (i *FileInfo) Mode() fs.FileMode { return modeOf(i.metadata.IsDirectory, i.metadata.IsFile) }

// ModTime implements [fs.FileInfo], in milliseconds.
func (i *FileInfo) ModTime() time.Time { return time.UnixMilli(i.metadata.ModifiedAtMs) }

// IsDir implements [fs.FileInfo].
func (i *FileInfo) IsDir() bool { return i.metadata.IsDirectory }

// Sys implements [fs.FileInfo]: it returns a *[protocol.FileMetadata].
func (i *FileInfo) Sys() any { return &i.metadata }

// String describes the file, as [fs.FormatFileInfo] does.
func (i *FileInfo) String() string { return fs.FormatFileInfo(i) }

func modeOf(isDirectory, isFile bool) fs.FileMode {
	switch {
	case isDirectory:
		return fs.ModeDir | 0o555
	case isFile:
		return 0o444
	default:
		return fs.ModeIrregular
	}
}

// modeBits returns a mode as the executor's system has it.
func modeBits(mode fs.FileMode) uint32 {
	bits := uint32(mode.Perm())
	for bit, with := range map[uint32]fs.FileMode{
		0o4000: fs.ModeSetuid, 0o2000: fs.ModeSetgid, 0o1000: fs.ModeSticky,
	} {
		if mode&with != 0 {
			bits |= bit
		}
	}
	return bits
}

// dirEntry implements [fs.DirEntry].
type dirEntry struct {
	entry protocol.DirectoryEntry
	info  func() (fs.FileInfo, error)
}

func (e *dirEntry) Name() string               { return e.entry.FileName }
func (e *dirEntry) IsDir() bool                { return e.entry.IsDirectory }
func (e *dirEntry) Info() (fs.FileInfo, error) { return e.info() }
func (e *dirEntry) String() string             { return fs.FormatDirEntry(e) }

func (e *dirEntry) Type() fs.FileMode {
	return modeOf(e.entry.IsDirectory, e.entry.IsFile).Type()
}

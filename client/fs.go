package client

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/airlock-exec/airlock/protocol"
)

// Files works with the files of an executor's host. Every file is named by its
// [protocol.PathURI]; [Files.Dir] is for who wants the names of package io/fs.
//
// # Errors
//
// An error about a path is a [*fs.PathError] with the URI, or an [*os.LinkError]
// with two. It wraps fs.ErrNotExist, fs.ErrExist, fs.ErrPermission or
// errors.ErrUnsupported, where the executor's answer says so, and always the
// answer itself, a [*protocol.Error]. It wraps errors.ErrUnsupported, too, if the
// executor does not have what is asked for.
//
// # Lost connections
//
// What is asked for is asked again when the connection is lost before the answer
// comes. Where that could do harm the error is [ErrOutcomeUnknown]: Mkdir, Remove,
// Copy and Rename. [File], [FileWriter] and [Watcher] say what becomes of them.
type Files struct{ executor *executor }

// Files implements [Executor].
func (e *executor) Files() *Files { return &Files{e} }

// Stat tells what is at a path, or what a symbolic link there leads to.
func (f *Files) Stat(ctx context.Context, path protocol.PathURI) (*FileInfo, error) {
	metadata, err := ofPath[protocol.FileMetadata](ctx, f, "stat", path, protocol.MethodGetMetadata,
		&protocol.GetMetadataParams{Path: path})
	if err != nil {
		return nil, err
	}
	return &FileInfo{path.Base(), *metadata}, nil
}

// ReadDir lists a directory in the order of the names. Types are those of what
// symbolic links lead to; a link that leads nowhere is left out. In a name, U+FFFD
// stands for what is not UTF-8.
func (f *Files) ReadDir(ctx context.Context, path protocol.PathURI) ([]fs.DirEntry, error) {
	result, err := ofPath[protocol.ReadDirectoryResult](ctx, f, "readdir", path, protocol.MethodReadDirectory,
		&protocol.ReadDirectoryParams{Path: path})
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(result.Entries, func(e protocol.DirectoryEntry) bool { return !f.isName(e.FileName) }); i >= 0 {
		err := fmt.Errorf("%w: it tells of an entry called %q", errNoAnswer, result.Entries[i].FileName)
		return nil, f.pathError("readdir", path, err)
	}
	slices.SortFunc(result.Entries, func(a, b protocol.DirectoryEntry) int {
		return strings.Compare(a.FileName, b.FileName)
	})
	entries := make([]fs.DirEntry, len(result.Entries))
	for i, e := range result.Entries {
		entries[i] = &dirEntry{e, func() (fs.FileInfo, error) {
			child, err := path.Join(e.FileName)
			if err != nil {
				return nil, &fs.PathError{Op: "stat", Path: e.FileName, Err: err}
			}
			return f.Stat(ctx, child)
		}}
	}
	return entries, nil
}

// isName tells whether an entry of a directory can be called that: whoever copies it
// to here shall not be led elsewhere.
func (f *Files) isName(name string) bool {
	separators := "/"
	if f.executor.Info().PlatformOS == "windows" {
		separators = `/\`
	}
	return name != "" && name != "." && name != ".." && !strings.ContainsAny(name, separators+"\x00")
}

// Mkdir makes a directory, in one that is there.
func (f *Files) Mkdir(ctx context.Context, path protocol.PathURI) error {
	return f.once(ctx, "mkdir", path, protocol.MethodCreateDirectory,
		&protocol.CreateDirectoryParams{Path: path, Recursive: new(false)})
}

// MkdirAll makes a directory with all that lead to it, as far as they are not
// there.
func (f *Files) MkdirAll(ctx context.Context, path protocol.PathURI) error {
	_, err := ofPath[protocol.CreateDirectoryResult](ctx, f, "mkdir", path, protocol.MethodCreateDirectory,
		&protocol.CreateDirectoryParams{Path: path, Recursive: new(true)})
	return err
}

// Remove removes a file, a symbolic link or an empty directory.
func (f *Files) Remove(ctx context.Context, path protocol.PathURI) error {
	return f.once(ctx, "remove", path, protocol.MethodRemove,
		&protocol.RemoveParams{Path: path, Recursive: new(false), Force: new(false)})
}

// RemoveAll removes what is at a path, with all that is below it. It is no error if
// nothing is there.
func (f *Files) RemoveAll(ctx context.Context, path protocol.PathURI) error {
	_, err := ofPath[protocol.RemoveResult](ctx, f, "remove", path, protocol.MethodRemove,
		&protocol.RemoveParams{Path: path, Recursive: new(true), Force: new(true)})
	return err
}

// Copy copies a file over what is at the destination, or a symbolic link. The
// data does not pass through the client.
func (f *Files) Copy(ctx context.Context, source, destination protocol.PathURI) error {
	return f.copy(ctx, source, destination, false)
}

// CopyAll is [Files.Copy] for a directory, too, with all that is in it: a
// directory that is at the destination keeps what else it holds. What has been
// copied before an error stays.
func (f *Files) CopyAll(ctx context.Context, source, destination protocol.PathURI) error {
	return f.copy(ctx, source, destination, true)
}

func (f *Files) copy(ctx context.Context, source, destination protocol.PathURI, recursive bool) error {
	_, err := requestOnce[protocol.CopyResult](ctx, f.executor, protocol.MethodCopy,
		&protocol.CopyParams{SourcePath: source, DestinationPath: destination, Recursive: recursive})
	return f.linkError("copy", source, destination, err)
}

// Rename renames or moves what is at a path, within one file system, at once or
// not at all. A file that is at the destination is replaced only if overwrite is
// set, and so is an empty directory, by a directory. The error wraps
// errors.ErrUnsupported if the executor can't do that: the dialect itself has no
// way to.
func (f *Files) Rename(ctx context.Context, source, destination protocol.PathURI, overwrite bool) error {
	err := f.executor.lacks("renaming", protocol.FeatureFSRename)
	if err == nil {
		_, err = requestOnce[protocol.RenameResult](ctx, f.executor, protocol.MethodRename,
			&protocol.RenameParams{SourcePath: source, DestinationPath: destination, Overwrite: overwrite})
	}
	return f.linkError("rename", source, destination, err)
}

// Chmod sets the permission bits of a file, and its bits for set-user-id,
// set-group-id and sticky. The error wraps errors.ErrUnsupported if the executor
// can't do that: the dialect itself has no way to.
func (f *Files) Chmod(ctx context.Context, path protocol.PathURI, mode fs.FileMode) error {
	if err := f.executor.lacks("changing modes", protocol.FeatureFSChmod); err != nil {
		return f.pathError("chmod", path, err)
	}
	_, err := ofPath[protocol.ChmodResult](ctx, f, "chmod", path, protocol.MethodChmod,
		&protocol.ChmodParams{Path: path, Mode: modeBits(mode)})
	return err
}

// Canonicalize returns the path of what is there without symbolic links.
func (f *Files) Canonicalize(ctx context.Context, path protocol.PathURI) (protocol.PathURI, error) {
	result, err := ofPath[protocol.CanonicalizeResult](ctx, f, "canonicalize", path, protocol.MethodCanonicalize,
		&protocol.CanonicalizeParams{Path: path})
	if err != nil {
		return protocol.PathURI{}, err
	}
	return result.Path, nil
}

// ofPath makes a request about a path that may be made more than once.
func ofPath[R any](ctx context.Context, f *Files, op string, path protocol.PathURI, method string, params any) (*R, error) {
	result, err := request[R](ctx, f.executor, method, params)
	if err != nil {
		return nil, f.pathError(op, path, err)
	}
	return result, nil
}

// once makes a request about a path that must not be made twice, and of whose
// result nothing is to be known.
func (f *Files) once(ctx context.Context, op string, path protocol.PathURI, method string, params any) error {
	if _, err := requestOnce[struct{}](ctx, f.executor, method, params); err != nil {
		return f.pathError(op, path, err)
	}
	return nil
}

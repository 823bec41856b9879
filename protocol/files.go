package protocol

import "github.com/go-json-experiment/json/jsontext"

// ReadFileParams reads a whole file.
type ReadFileParams struct {
	Path PathURI `json:"path"`
	// FollowSymlinks, if false, refuses paths with a symbolic link in them.
	// Missing means true.
	FollowSymlinks *bool `json:"followSymlinks,omitzero"`
	// Sandbox is the confinement asked for; null asks for none.
	Sandbox *SandboxContext `json:"sandbox,omitzero"`
}

// ReadFileResult answers fs/readFile.
type ReadFileResult struct {
	DataBase64 Bytes `json:"dataBase64"`
}

// WriteFileParams writes a whole file: one that exists is overwritten in place,
// another one is made. Its folder must be there.
type WriteFileParams struct {
	Path       PathURI  `json:"path"`
	DataBase64 FileData `json:"dataBase64"`
	// FollowSymlinks is as in [ReadFileParams].
	FollowSymlinks *bool `json:"followSymlinks,omitzero"`
	// Sandbox is the confinement asked for; null asks for none.
	Sandbox *SandboxContext `json:"sandbox,omitzero"`
}

// WriteFileResult answers fs/writeFile.
type WriteFileResult struct{}

// FileData are [Bytes] whose faults are not those of the parameters: the method
// tells of them.
type FileData struct {
	Bytes Bytes
	// Fault says what is wrong with the text, if there is something.
	Fault error
}

// MarshalJSONTo writes the base64 text.
func (d FileData) MarshalJSONTo(enc *jsontext.Encoder) error { return d.Bytes.MarshalJSONTo(enc) }

// UnmarshalJSONFrom reads base64 text.
func (d *FileData) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	text, err := readText(dec, "a string")
	if err == nil {
		d.Bytes, d.Fault = decodeBase64(text)
	}
	return err
}

// OpenFileParams opens a file, to read or write it by blocks.
type OpenFileParams struct {
	// HandleID is chosen by the client: at most 32 bytes, unique among the open
	// files of its connection.
	HandleID string  `json:"handleId"`
	Path     PathURI `json:"path"`
	// Mode is to read if it is missing.
	Mode OpenMode `json:"mode,omitzero"`
	// Sandbox is the confinement asked for; null asks for none.
	Sandbox *SandboxContext `json:"sandbox,omitzero"`
	// Airlock asks for what only Airlock executors do.
	Airlock *OpenExtra `json:"airlock,omitzero"`
}

// OpenMode says what a file is opened for.
type OpenMode string

// Modes.
const (
	OpenRead    OpenMode = "read"    // to be read
	OpenReplace OpenMode = "replace" // to be written, from empty
)

// OpenFileResult answers fs/open.
type OpenFileResult struct {
	HandleID string `json:"handleId"`
}

// ReadBlockParams reads a part of an open file.
type ReadBlockParams struct {
	HandleID string `json:"handleId"`
	// Offset is where the block begins, in bytes.
	Offset uint64 `json:"offset"`
	// Len is the length of the block: 1 to 1048576 bytes.
	Len uint64 `json:"len"`
}

// ReadBlockResult answers fs/readBlock.
type ReadBlockResult struct {
	Chunk Bytes `json:"chunk"`
	// EOF says that the block is shorter than asked for, as the file ends.
	EOF bool `json:"eof"`
}

// WriteBlockParams writes a part of an open file.
type WriteBlockParams struct {
	HandleID string `json:"handleId"`
	// Offset is where the block begins, in bytes. What lies between the end of
	// the file and there becomes zeros.
	Offset uint64 `json:"offset"`
	// Chunk is what is written: 1 to 1048576 bytes.
	Chunk Bytes `json:"chunk"`
}

// WriteBlockResult answers fs/writeBlock.
type WriteBlockResult struct{}

// CloseFileParams closes an open file.
type CloseFileParams struct {
	HandleID string `json:"handleId"`
}

// CloseFileResult answers fs/close.
type CloseFileResult struct{}

// CreateDirectoryParams makes a directory.
type CreateDirectoryParams struct {
	Path PathURI `json:"path"`
	// Recursive makes parents, too, and takes a directory that is there for made.
	// Missing means true.
	Recursive *bool `json:"recursive,omitzero"`
	// FollowSymlinks is as in [ReadFileParams].
	FollowSymlinks *bool `json:"followSymlinks,omitzero"`
	// Sandbox is the confinement asked for; null asks for none.
	Sandbox *SandboxContext `json:"sandbox,omitzero"`
}

// CreateDirectoryResult answers fs/createDirectory.
type CreateDirectoryResult struct{}

// GetMetadataParams asks what is at a path.
type GetMetadataParams struct {
	Path PathURI `json:"path"`
	// FollowSymlinks is as in [ReadFileParams].
	FollowSymlinks *bool `json:"followSymlinks,omitzero"`
	// Sandbox is the confinement asked for; null asks for none.
	Sandbox *SandboxContext `json:"sandbox,omitzero"`
}

// FileMetadata answers fs/getMetadata. All but IsSymlink is about what a symbolic
// link leads to.
type FileMetadata struct {
	IsDirectory bool `json:"isDirectory"`
	// IsFile is false for pipes, devices and sockets, too.
	IsFile    bool   `json:"isFile"`
	IsSymlink bool   `json:"isSymlink"`
	Size      uint64 `json:"size"`
	// CreatedAtMs and ModifiedAtMs are in milliseconds since 1970, 0 if that is
	// not known.
	CreatedAtMs  int64 `json:"createdAtMs"`
	ModifiedAtMs int64 `json:"modifiedAtMs"`
}

// CanonicalizeParams asks for the path without symbolic links.
type CanonicalizeParams struct {
	Path PathURI `json:"path"`
	// Sandbox is the confinement asked for; null asks for none.
	Sandbox *SandboxContext `json:"sandbox,omitzero"`
}

// CanonicalizeResult answers fs/canonicalize.
type CanonicalizeResult struct {
	Path PathURI `json:"path"`
}

// ReadDirectoryParams lists a directory.
type ReadDirectoryParams struct {
	Path PathURI `json:"path"`
	// Sandbox is the confinement asked for; null asks for none.
	Sandbox *SandboxContext `json:"sandbox,omitzero"`
}

// ReadDirectoryResult answers fs/readDirectory.
type ReadDirectoryResult struct {
	// Entries are in the order of their names.
	Entries []DirectoryEntry `json:"entries"`
}

// DirectoryEntry is what stands in a directory. IsDirectory and IsFile are about
// what a symbolic link leads to; one that leads nowhere is left out.
type DirectoryEntry struct {
	// FileName has U+FFFD in place of what is not UTF-8.
	FileName    string `json:"fileName"`
	IsDirectory bool   `json:"isDirectory"`
	IsFile      bool   `json:"isFile"`
}

// WalkParams lists a directory with all that is below it.
type WalkParams struct {
	Path    PathURI     `json:"path"`
	Options WalkOptions `json:"options"`
	// Sandbox is the confinement asked for; null asks for none.
	Sandbox *SandboxContext `json:"sandbox,omitzero"`
}

// WalkOptions bounds a walk.
type WalkOptions struct {
	// MaxDepth is how far below the directory is looked, at most 64; with 0 only
	// into itself.
	MaxDepth uint64 `json:"maxDepth"`
	// MaxDirectories is how many directories are looked into: 1 to 10000.
	MaxDirectories uint64 `json:"maxDirectories"`
	// MaxEntries is how many entries are looked at: 1 to 50000.
	MaxEntries uint64 `json:"maxEntries"`
	// FollowDirectorySymlinks looks into directories that symbolic links lead to,
	// into each directory once.
	FollowDirectorySymlinks bool `json:"followDirectorySymlinks"`
	// PruneHiddenDirectories does not look into directories whose name begins
	// with a dot.
	PruneHiddenDirectories bool `json:"pruneHiddenDirectories,omitzero"`
}

// WalkResult answers fs/walk.
type WalkResult struct {
	// Entries are files and directories, what is nearer first.
	Entries []WalkEntry `json:"entries"`
	Errors  []WalkError `json:"errors"`
	// Truncated says that a bound has been met, so that there is more.
	Truncated bool `json:"truncated"`
}

// WalkEntry is a file or a directory that a walk has found.
type WalkEntry struct {
	// Path begins as that which was asked for.
	Path PathURI   `json:"path"`
	Kind EntryKind `json:"kind"`
}

// EntryKind says what a walk has found.
type EntryKind string

// Kinds.
const (
	EntryFile      EntryKind = "file"
	EntryDirectory EntryKind = "directory"
)

// WalkError tells of something that a walk could not look at.
type WalkError struct {
	Path    PathURI `json:"path"`
	Message string  `json:"message"`
}

// RemoveParams removes a file or a directory. A symbolic link is removed itself.
type RemoveParams struct {
	Path PathURI `json:"path"`
	// Recursive removes what is in a directory, too. Missing means true.
	Recursive *bool `json:"recursive,omitzero"`
	// Force takes what is not there for removed. Missing means true.
	Force *bool `json:"force,omitzero"`
	// FollowSymlinks is as in [ReadFileParams]; if it is false, Recursive must be.
	FollowSymlinks *bool `json:"followSymlinks,omitzero"`
	// Sandbox is the confinement asked for; null asks for none.
	Sandbox *SandboxContext `json:"sandbox,omitzero"`
}

// RemoveResult answers fs/remove.
type RemoveResult struct{}

// CopyParams copies a file, a symbolic link, or a directory with all that is in
// it.
type CopyParams struct {
	SourcePath      PathURI `json:"sourcePath"`
	DestinationPath PathURI `json:"destinationPath"`
	// Recursive allows the source to be a directory.
	Recursive bool `json:"recursive"`
	// Sandbox is the confinement asked for; null asks for none.
	Sandbox *SandboxContext `json:"sandbox,omitzero"`
}

// CopyResult answers fs/copy.
type CopyResult struct{}

// WatchMissingParams asks to be told, once, when one of some paths that do not
// exist may do so. A connection has one such watch: this one ends that before.
type WatchMissingParams struct {
	// WatchID must be greater than that of every watch before.
	WatchID uint64 `json:"watchId"`
	// Missing are 1 to 64 paths that do not exist.
	Missing []PathURI `json:"missing"`
	// Present, if given, is a path that exists: every change of it is told, too.
	Present *PathURI `json:"present,omitzero"`
}

// WatchMissingResult answers fs/watchMissing.
type WatchMissingResult struct {
	// Watching is false if there is nothing to watch, as one of the paths does
	// exist, say.
	Watching bool `json:"watching"`
}

// MissingChangedNotification tells that the paths of a watch may exist now. The
// watch has ended.
type MissingChangedNotification struct {
	WatchID uint64 `json:"watchId"`
}

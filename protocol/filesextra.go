package protocol

// What stands here are Airlock's additions to the methods of files.

// OpenExtra is what Airlock adds to fs/open.
type OpenExtra struct {
	// Keep leaves in the file what it holds, when it is opened to be replaced. So
	// a transfer goes on that was interrupted. Feature [FeatureFSOpenKeep].
	Keep bool `json:"keep,omitzero"`
}

// RenameParams renames or moves what is at a path, within one file system. It
// happens at once, or not at all. Feature [FeatureFSRename].
type RenameParams struct {
	SourcePath      PathURI `json:"sourcePath"`
	DestinationPath PathURI `json:"destinationPath"`
	// Overwrite replaces what is at the destination: a file, or an empty
	// directory by a directory.
	Overwrite bool `json:"overwrite,omitzero"`
	// Sandbox is the confinement asked for; null asks for none.
	Sandbox *SandboxContext `json:"sandbox,omitzero"`
}

// RenameResult answers airlock/fsRename.
type RenameResult struct{}

// ChmodParams sets the permission bits of a file. Feature [FeatureFSChmod].
type ChmodParams struct {
	Path PathURI `json:"path"`
	// Mode is at most 4095, the octal 7777.
	Mode uint32 `json:"mode"`
	// FollowSymlinks is as in [ReadFileParams].
	FollowSymlinks *bool `json:"followSymlinks,omitzero"`
	// Sandbox is the confinement asked for; null asks for none.
	Sandbox *SandboxContext `json:"sandbox,omitzero"`
}

// ChmodResult answers airlock/fsChmod.
type ChmodResult struct{}

// ReadRangeParams reads a part of a file: either bytes or lines. Feature
// [FeatureFSReadRange].
type ReadRangeParams struct {
	Path PathURI `json:"path"`
	// Bytes or Lines must be given, and not both.
	Bytes *ByteRange `json:"bytes,omitzero"`
	Lines *LineRange `json:"lines,omitzero"`
	// Sandbox is the confinement asked for; null asks for none.
	Sandbox *SandboxContext `json:"sandbox,omitzero"`
}

// ByteRange is a part of a file in bytes.
type ByteRange struct {
	Offset uint64 `json:"offset"`
	// Length is 1 to 1048576.
	Length uint64 `json:"length"`
}

// LineRange is a part of a file in lines, each of which ends with a line feed or
// with the file.
type LineRange struct {
	// First is the number of the first line; the file begins with line 1.
	First uint64 `json:"first"`
	// Count is how many lines, at least 1.
	Count uint64 `json:"count"`
}

// ReadRangeResult answers airlock/fsReadRange.
type ReadRangeResult struct {
	// DataBase64 is at most 1 MiB; of lines that are more, what is left can be
	// read by bytes, from Offset and the length of the data on.
	DataBase64 Bytes `json:"dataBase64"`
	// Offset is where the data begins, in bytes.
	Offset uint64 `json:"offset"`
	// EOF says that the data reaches to the end of the file.
	EOF bool `json:"eof"`
	// Truncated says that the data ends within the lines that were asked for.
	Truncated bool `json:"truncated,omitzero"`
}

// SearchParams looks for text in the files below a directory, or in one file.
// Feature [FeatureFSSearch].
type SearchParams struct {
	Path PathURI `json:"path"`
	// Pattern is the text that is looked for, within lines.
	Pattern string `json:"pattern"`
	// Regexp says that Pattern is a regular expression in the syntax of RE2.
	Regexp bool `json:"regexp,omitzero"`
	// IgnoreCase takes upper and lower case for the same.
	IgnoreCase bool `json:"ignoreCase,omitzero"`
	// Include, if there are any, are globs of which a file must match one, and
	// Exclude such that it must not: of the path below Path, with slashes. A
	// directory that matches Exclude is not looked into. "**" stands for any
	// directories; a glob without a slash is matched with the name.
	Include []string `json:"include,omitzero"`
	Exclude []string `json:"exclude,omitzero"`
	// IgnoreFiles leaves out what the files .gitignore and .ignore say.
	IgnoreFiles bool `json:"ignoreFiles,omitzero"`
	// Hidden looks into files and directories whose name begins with a dot.
	Hidden bool `json:"hidden,omitzero"`
	// MaxMatches bounds this answer: 1 to 1000; missing means 1000.
	MaxMatches *uint64 `json:"maxMatches,omitzero"`
	// After goes on behind an earlier answer: it is the Next of that, and all
	// else must be as it was.
	After *string `json:"after,omitzero"`
	// Sandbox is the confinement asked for; null asks for none.
	Sandbox *SandboxContext `json:"sandbox,omitzero"`
}

// SearchResult answers airlock/fsSearch.
type SearchResult struct {
	// Matches are in the order of their paths and lines.
	Matches []SearchMatch `json:"matches"`
	// Errors tells of what could not be looked at, up to 100.
	Errors []WalkError `json:"errors"`
	// Next, if given, says that there may be more; see [SearchParams].
	Next *string `json:"next,omitzero"`
}

// SearchMatch is a line with a match.
type SearchMatch struct {
	Path PathURI `json:"path"`
	// Line is the number of the line; the file begins with line 1.
	Line uint64 `json:"line"`
	// Start and End are where the first match in the line begins and ends, in
	// bytes of the line; Offset is where the line begins in the file.
	Start  uint64 `json:"start"`
	End    uint64 `json:"end"`
	Offset uint64 `json:"offset"`
	// Text is the line, without its end and with U+FFFD in place of what is not
	// UTF-8; of a long line, what is around the match, and TextStart is where it
	// begins in the line.
	Text      string `json:"text"`
	TextStart uint64 `json:"textStart,omitzero"`
}

// WatchParams asks to be told of changes at a path, until the watch or the
// connection ends. Feature [FeatureFSWatch].
type WatchParams struct {
	// WatchID is chosen by the client: at most 32 bytes, unique among the watches
	// of its connection.
	WatchID string `json:"watchId"`
	// Path is a file or a directory.
	Path PathURI `json:"path"`
	// Recursive watches all that is below the directory, too, and what is made
	// there later. Symbolic links are not followed.
	Recursive bool `json:"recursive,omitzero"`
	// Include and Exclude are as in [SearchParams].
	Include []string `json:"include,omitzero"`
	Exclude []string `json:"exclude,omitzero"`
	// Sandbox is the confinement asked for; null asks for none.
	Sandbox *SandboxContext `json:"sandbox,omitzero"`
}

// WatchResult answers airlock/fsWatch. What changes from now on is told.
type WatchResult struct{}

// UnwatchParams ends a watch.
type UnwatchParams struct {
	WatchID string `json:"watchId"`
}

// UnwatchResult answers airlock/fsUnwatch. Nothing is told of the watch any more.
type UnwatchResult struct {
	// Watching tells whether there was such a watch.
	Watching bool `json:"watching"`
}

// ChangedNotification tells of changes.
type ChangedNotification struct {
	WatchID string       `json:"watchId"`
	Changes []PathChange `json:"changes"`
	// Rescan says that changes have been missed: whoever wants to know what is
	// there has to look.
	Rescan bool `json:"rescan,omitzero"`
	// Ended, if given, says why the watch has ended. What was known of the paths is
	// void.
	Ended *string `json:"ended,omitzero"`
}

// PathChange is a change. Several at one path, one soon after the other, are told
// as one.
type PathChange struct {
	Path PathURI    `json:"path"`
	Kind ChangeKind `json:"kind"`
}

// ChangeKind says what has become of a path.
type ChangeKind string

// Kinds of changes. What is renamed is removed there and created here.
const (
	ChangeCreated  ChangeKind = "created"  // what was known of it, and below, is void
	ChangeModified ChangeKind = "modified" // its data or its metadata
	ChangeRemoved  ChangeKind = "removed"
)

package protocol

// Failures that the methods of files have in common.
var (
	notFound = Failure{CodeNotFound, "there is no such file or directory"}
	refused  = Failure{CodeInvalidRequest, "permission is denied, the path is of another system or not of the right kind, or a confinement is asked for that can't be enforced"}
	failed   = Failure{CodeInternal, "the operating system says something else"}
)

// files are the methods of the dialect about files, and about what is elsewhere.
func files() []Message {
	return []Message{
		request[ReadFileParams, ReadFileResult](MethodReadFile,
			"Reads a whole file, of up to 512 MiB.", notFound, refused, failed),
		request[WriteFileParams, WriteFileResult](MethodWriteFile,
			"Writes a whole file. Its folder must be there.", notFound, refused, failed),
		request[OpenFileParams, OpenFileResult](MethodOpenFile,
			"Opens a file, to read or write it by blocks. It is closed with the connection.", notFound, refused, failed),
		request[ReadBlockParams, ReadBlockResult](MethodReadBlock,
			"Reads a part of an open file.",
			Failure{CodeNotFound, "no such file is open"},
			Failure{CodeInvalidRequest, "len is 0 or too much, or the offset makes no sense"},
			Failure{CodeInternal, "it can't be read; the file is closed"}),
		request[WriteBlockParams, WriteBlockResult](MethodWriteBlock,
			"Writes a part of an open file.",
			Failure{CodeNotFound, "no such file is open"},
			Failure{CodeInvalidRequest, "chunk is empty or too long, or the offset makes no sense"},
			Failure{CodeInternal, "it can't be written"}),
		request[CloseFileParams, CloseFileResult](MethodCloseFile,
			"Closes an open file. It is no error if there is none.",
			Failure{CodeInvalidRequest, "handleId is too long"}),
		request[CreateDirectoryParams, CreateDirectoryResult](MethodCreateDirectory,
			"Makes a directory.", notFound, refused, failed),
		request[GetMetadataParams, FileMetadata](MethodGetMetadata,
			"Tells what is at a path.", notFound, refused, failed),
		request[CanonicalizeParams, CanonicalizeResult](MethodCanonicalize,
			"Resolves the symbolic links of a path.", notFound, refused, failed),
		request[ReadDirectoryParams, ReadDirectoryResult](MethodReadDirectory,
			"Lists a directory.", notFound, refused, failed),
		request[WalkParams, WalkResult](MethodWalk,
			"Lists a directory with all that is below it.", notFound, refused, failed),
		request[RemoveParams, RemoveResult](MethodRemove,
			"Removes a file, or a directory with all that is in it.", notFound, refused, failed),
		request[CopyParams, CopyResult](MethodCopy,
			"Copies a file, a symbolic link, or a directory with all that is in it.", notFound, refused, failed),
		request[WatchMissingParams, WatchMissingResult](MethodWatchMissing,
			"Asks to be told, once, when one of some paths may exist."),
		notification[MissingChangedNotification](Executor, PhaseReady, NotificationMissingChanged,
			"Tells that one of the paths of a watch may exist now, and that the watch has ended."),
		request[HTTPRequestParams, HTTPRequestResult](MethodHTTPRequest,
			"Makes an HTTP request. Any status is a result.",
			Failure{CodeInternal, "there is no answer, or it can't be read"},
			Failure{CodeInvalidParams, "the request makes no sense, or its stream is active"}),
		notification[HTTPBodyDeltaNotification](Executor, PhaseReady, NotificationHTTPBodyDelta,
			"Tells a part of the body of an answer."),
	}
}

// filesExtra are Airlock's additions.
func filesExtra() []Message {
	return []Message{
		feature(FeatureFSRename, request[RenameParams, RenameResult](MethodRename,
			"Renames or moves a file or a directory, within one file system.", notFound, refused, failed)),
		feature(FeatureFSChmod, request[ChmodParams, ChmodResult](MethodChmod,
			"Sets the permission bits of a file.", notFound, refused, failed)),
		feature(FeatureFSReadRange, request[ReadRangeParams, ReadRangeResult](MethodReadRange,
			"Reads some bytes or lines of a file.", notFound, refused, failed)),
		feature(FeatureFSSearch, request[SearchParams, SearchResult](MethodSearch,
			"Looks for text in files.", notFound, refused, failed)),
		feature(FeatureFSWatch, request[WatchParams, WatchResult](MethodWatch,
			"Asks to be told of changes.", notFound, refused, failed)),
		feature(FeatureFSWatch, request[UnwatchParams, UnwatchResult](MethodUnwatch,
			"Ends a watch. It is no error if there is none.")),
		feature(FeatureFSWatch, notification[ChangedNotification](Executor, PhaseReady, NotificationChanged,
			"Tells of changes.")),
	}
}

package client

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/airlock-exec/airlock/protocol"
)

// Errors to branch on, of files.
var (
	// ErrFileChanged: the connection was lost while a file was read or written,
	// and over the next one the file is not what it was.
	ErrFileChanged = errors.New("the file has been changed or replaced while the connection was lost")
	// ErrWriteInterrupted: the connection was lost while a file was written, and
	// the executor has no way to go on with it.
	ErrWriteInterrupted = errors.New("the connection was lost, and this executor can't go on writing the file")
	// ErrTooLarge: a file or a body has more than is held in memory at once.
	// [Files.Open] and [HTTP.Stream] read it as it comes.
	ErrTooLarge = errors.New("it is too large to be held in memory: read it as it comes")
	// ErrWatchEnded: the executor has ended a watch, as what was watched is gone,
	// say.
	ErrWatchEnded = errors.New("the watch has ended")
	// ErrWatchReplaced: missing paths are waited for no longer, as others are.
	ErrWatchReplaced = errors.New("another watch for missing paths has taken the place of this one")
)

// fileError is what an executor has answered, and what that is called here.
type fileError struct {
	kind     error
	answered error
}

func (e *fileError) Error() string   { return e.answered.Error() }
func (e *fileError) Unwrap() []error { return []error{e.kind, e.answered} }

// pathError is an error about a path.
func (f *Files) pathError(op string, path protocol.PathURI, err error) error {
	return &fs.PathError{Op: op, Path: path.String(), Err: f.fileError(err)}
}

// linkError is an error about two paths, or nil.
func (f *Files) linkError(op string, source, destination protocol.PathURI, err error) error {
	if err == nil {
		return nil
	}
	return &os.LinkError{Op: op, Old: source.String(), New: destination.String(), Err: f.fileError(err)}
}

// fileError gives an answered error the name that it has in Go.
func (f *Files) fileError(err error) error {
	refused := refusal(err)
	if refused == nil {
		return err
	}
	if kind := fileKind(refused, f.executor.Info().PlatformOS); kind != nil {
		return &fileError{kind, err}
	}
	return err
}

// osError stands between the text of an error of the executor's system and its
// number.
const osError = " (os error "

// texts of errors on Unix, whose numbers differ from one system to the other.
var fileTexts = map[string]error{
	"No such file or directory": fs.ErrNotExist,
	"File exists":               fs.ErrExist,
	"Directory not empty":       fs.ErrExist,
	"Permission denied":         fs.ErrPermission,
	"Operation not permitted":   fs.ErrPermission,
	"Function not implemented":  errors.ErrUnsupported,
	"Not supported":             errors.ErrUnsupported,
	"Operation not supported":   errors.ErrUnsupported,
}

// fileNumbers are the numbers of errors on Windows, whose texts differ from one
// language to the other.
var fileNumbers = map[string]error{
	"2": fs.ErrNotExist, "3": fs.ErrNotExist,
	"5":  fs.ErrPermission,
	"50": errors.ErrUnsupported, "120": errors.ErrUnsupported,
	"80": fs.ErrExist, "145": fs.ErrExist, "183": fs.ErrExist,
}

// fileKind returns what an answered error is called here, or nil.
func fileKind(refused *protocol.Error, platform string) error {
	switch {
	case refused.Code == protocol.CodeMethodNotFound:
		return errors.ErrUnsupported
	case strings.HasPrefix(refused.Message, textUnknownHandle):
		return fs.ErrClosed
	case refused.Code == protocol.CodeNotFound:
		return fs.ErrNotExist
	}
	i := strings.LastIndex(refused.Message, osError)
	if i < 0 {
		return nil
	}
	if platform != "windows" {
		return fileTexts[refused.Message[:i]]
	}
	return fileNumbers[strings.TrimSuffix(refused.Message[i+len(osError):], ")")]
}

// textUnknownHandle begins the error about a file that is not open.
const textUnknownHandle = "unknown file handle "

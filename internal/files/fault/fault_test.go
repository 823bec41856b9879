//go:build unix

package fault

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/airlock-exec/airlock/protocol"
)

func TestWire(t *testing.T) {
	t.Parallel()
	own := protocol.Errorf(protocol.CodeInvalidParams, "mine")
	for _, test := range []struct {
		err  error
		code protocol.Code
		text string
	}{
		{&fs.PathError{Op: "open", Path: "/secret/place", Err: unix.ENOENT}, protocol.CodeNotFound, "No such file or directory (os error 2)"},
		{&os.LinkError{Op: "link", Old: "/a", New: "/b", Err: unix.EXDEV}, protocol.CodeInternal, fmt.Sprintf("Cross-device link (os error %d)", int(unix.EXDEV))},
		{unix.EACCES, protocol.CodeInvalidRequest, "Permission denied (os error 13)"},
		{fmt.Errorf("copying: %w", unix.EPERM), protocol.CodeInvalidRequest, "Operation not permitted (os error 1)"},
		{unix.EINVAL, protocol.CodeInvalidRequest, "Invalid argument (os error 22)"},
		{unix.ENOTDIR, protocol.CodeInternal, "Not a directory (os error 20)"},
		{unix.EIO, protocol.CodeInternal, "I/O error (os error 5)"},
		// One without a text of ours has that of the system.
		{unix.ECHILD, protocol.CodeInternal, fmt.Sprintf("%s (os error %d)", unix.ECHILD.Error(), int(unix.ECHILD))},
		{errors.New("something else"), protocol.CodeInternal, "something else"},
		{own, own.Code, own.Message},
		{fmt.Errorf("reading: %w", own), own.Code, own.Message},
	} {
		if got := Wire(test.err); got.Code != test.code || got.Message != test.text {
			t.Errorf("%v: got %d %q, want %d %q", test.err, got.Code, got.Message, test.code, test.text)
		}
	}
}

// TestTexts: what the operating system says is told in our words or its own, never
// without the number.
func TestTexts(t *testing.T) {
	t.Parallel()
	for number, text := range texts {
		if want := fmt.Sprintf("%s (os error %d)", text, int(number)); Text(fmt.Errorf("x: %w", number)) != want {
			t.Errorf("%d: got %q, want %q", number, Text(number), want)
		}
	}
	if len(texts) < 31 {
		t.Errorf("only %d errors have a text", len(texts))
	}
	if Text(syscall.Errno(0)) == "" {
		t.Error("no text")
	}
}

func TestNative(t *testing.T) {
	t.Parallel()
	uri, err := protocol.ParsePathURI("file:///w/a%20b/")
	if err != nil {
		t.Fatal(err)
	}
	if path, err := Native(uri); err != nil || path != "/w/a b" {
		t.Errorf("got %q, %v", path, err)
	}
	uri, err = protocol.ParsePathURI("file:///C:/x")
	if err != nil {
		t.Fatal(err)
	}
	_, err = Native(uri)
	if wire, ok := errors.AsType[*protocol.Error](err); !ok || wire.Code != protocol.CodeInvalidRequest {
		t.Errorf("got %v", err)
	}
}

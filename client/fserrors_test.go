package client

import (
	"errors"
	"io/fs"
	"testing"

	"github.com/airlock-exec/airlock/protocol"
)

// TestFileErrors: an error is called what it is in Go, whatever the executor's
// system calls it.
func TestFileErrors(t *testing.T) {
	known := []error{fs.ErrNotExist, fs.ErrExist, fs.ErrPermission, fs.ErrClosed, errors.ErrUnsupported}
	for _, test := range []struct {
		platform string
		code     protocol.Code
		text     string
		want     error
	}{
		{"linux", protocol.CodeNotFound, "No such file or directory (os error 2)", fs.ErrNotExist},
		{"linux", protocol.CodeNotFound, "anything", fs.ErrNotExist},
		{"linux", protocol.CodeNotFound, "unknown file handle `x`", fs.ErrClosed},
		{"linux", protocol.CodeInternal, "File exists (os error 17)", fs.ErrExist},
		{"linux", protocol.CodeInternal, "Directory not empty (os error 39)", fs.ErrExist},
		{"macos", protocol.CodeInternal, "Directory not empty (os error 66)", fs.ErrExist},
		{"linux", protocol.CodeInvalidRequest, "Permission denied (os error 13)", fs.ErrPermission},
		{"linux", protocol.CodeInvalidRequest, "Operation not permitted (os error 1)", fs.ErrPermission},
		{"linux", protocol.CodeInternal, "Not supported (os error 95)", errors.ErrUnsupported},
		{"linux", protocol.CodeMethodNotFound, "anything", errors.ErrUnsupported},
		{"linux", protocol.CodeInternal, "Is a directory (os error 21)", nil},
		{"linux", protocol.CodeInternal, "File exists", nil},
		{"linux", protocol.CodeInvalidRequest, "path `/File exists (os error 17)` is not a file", nil},
		{"windows", protocol.CodeNotFound, "Das System kann die angegebene Datei nicht finden. (os error 2)", fs.ErrNotExist},
		{"windows", protocol.CodeInternal, "Das Verzeichnis ist nicht leer. (os error 145)", fs.ErrExist},
		{"windows", protocol.CodeInternal, "Zugriff verweigert (os error 5)", fs.ErrPermission},
		{"windows", protocol.CodeInternal, "File exists (os error 17)", nil},
		{"windows", protocol.CodeInternal, "x (os error 99999999999999999999)", nil},
	} {
		refused := protocol.Errorf(test.code, "%s", test.text)
		got := fileKind(refused, test.platform)
		if got != test.want {
			t.Errorf("%s, %d, %s: %v in place of %v", test.platform, test.code, test.text, got, test.want)
		}
		wrapped := error(&fileError{got, refused})
		if got == nil {
			wrapped = refused
		}
		for _, kind := range known {
			if errors.Is(wrapped, kind) != (kind == test.want) {
				t.Errorf("%s: is %v: %v", test.text, kind, errors.Is(wrapped, kind))
			}
		}
		if answered := refusal(wrapped); answered != refused || wrapped.Error() != test.text {
			t.Errorf("%v has become of %s", wrapped, test.text)
		}
	}
}

func FuzzFileErrors(f *testing.F) {
	f.Add("File exists (os error 17)")
	f.Add("x (os error 183)")
	f.Add("(os error ")
	f.Fuzz(func(_ *testing.T, text string) {
		for _, platform := range []string{"linux", "windows"} {
			fileKind(protocol.Errorf(protocol.CodeInternal, "%s", text), platform)
		}
	})
}

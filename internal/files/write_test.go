package files

import (
	"os"
	"testing"

	"github.com/airlock-exec/airlock/protocol"
)

func TestWriteFile(t *testing.T) {
	f := connection(t)
	dir := folder(t)
	old := put(t, dir+"/old", "something longer")
	must(t, os.Chmod(old, 0o600))
	must(t, os.Link(old, dir+"/other name"))
	link(t, "old", dir+"/link")
	for _, name := range []string{"old", "new", "link"} {
		_, err := f.WriteFile(t.Context(), &protocol.WriteFileParams{
			Path: uri(t, dir+"/"+name), DataBase64: protocol.FileData{Bytes: []byte(name)},
		})
		must(t, err)
		if got := content(t, dir+"/"+name); got != name {
			t.Errorf("%s: got %q", name, got)
		}
	}
	if got := content(t, dir+"/other name"); got != "link" {
		t.Errorf("the other name of the file has %q, want what was written last", got)
	}
	info, err := os.Stat(old)
	must(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("the file has the mode %v now", info.Mode())
	}
}

// TestWriteFileOfBadData: what is wrong with the data is told first, and nothing
// is touched.
func TestWriteFileOfBadData(t *testing.T) {
	f := connection(t)
	path := put(t, folder(t)+"/f", "kept")
	tests := map[string]string{
		"!!!":  "Invalid symbol 33, offset 0.",
		"YQ":   "Invalid padding",
		"YR==": "Invalid last symbol 82, offset 1.",
		"A":    "Invalid input length: 1",
	}
	for text, fault := range tests {
		for _, where := range []string{uri(t, path).String(), "file:///C:/x"} {
			p := decode[protocol.WriteFileParams](t, []byte(`{"path":"`+where+`","dataBase64":"`+text+`"}`))
			_, err := f.WriteFile(t.Context(), p)
			check(t, text, err, refused{protocol.CodeInvalidRequest, "fs/writeFile requires valid base64 dataBase64: " + fault})
		}
	}
	if got := content(t, path); got != "kept" {
		t.Errorf("the file has %q", got)
	}
}

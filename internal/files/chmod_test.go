package files

import (
	"os"
	"runtime"
	"testing"

	"github.com/airlock-exec/airlock/protocol"
)

func TestChmod(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no such modes")
	}
	dir := folder(t)
	put(t, dir+"/f", "")
	link(t, "f", dir+"/link")
	for _, test := range []struct {
		name   string
		mode   uint32
		follow *bool
		want   refused
		is     os.FileMode
	}{
		{"f", 0o600, nil, fine, 0o600},
		{"f", 0, no(), fine, 0},
		{"f", 0o7777, nil, fine, 0o777 | os.ModeSetuid | os.ModeSetgid | os.ModeSticky},
		{"link", 0o640, nil, fine, 0o640},
		{"link", 0o600, no(), hasLink, 0o640},
		{"f", 0o10000, nil, refused{protocol.CodeInvalidRequest, "the mode 4096 is more than 4095, the octal 7777"}, 0o640},
		{"none", 0o600, nil, noFile, 0o640},
		{"none", 0o600, no(), noFile, 0o640},
	} {
		_, err := new(Files).Chmod(t.Context(), &protocol.ChmodParams{Path: uri(t, dir+"/"+test.name), Mode: test.mode, FollowSymlinks: test.follow})
		check(t, test.name, err, test.want)
		info, err := os.Stat(dir + "/f")
		must(t, err)
		if info.Mode() != test.is {
			t.Errorf("%s to %o: the mode is %v, want %v", test.name, test.mode, info.Mode(), test.is)
		}
	}
}

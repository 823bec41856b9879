//go:build !windows

package environ

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestShellOf(t *testing.T) {
	const accounts = `root:x:0:0:root:/root:/bin/bash
# a comment
broken:x:1000
me:x:1000:1000:Me,,,:/home/me:/usr/bin/zsh
also:x:1000:1000::/home/me:/bin/sh
none:x:1001:1001::/home/none:
`
	for uid, want := range map[int]string{0: "/bin/bash", 1000: "/usr/bin/zsh", 1001: "", 7: ""} {
		if got := shellOf(strings.NewReader(accounts), uid); got != want {
			t.Errorf("user %d: %q, want %q", uid, got, want)
		}
	}
}

func TestLoginShell(t *testing.T) {
	if shell := LoginShell(); !filepath.IsAbs(shell) {
		t.Errorf("got %q", shell)
	}
}

//go:build unix

package server

import (
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// TestCloseKillsEverything, also what ignores signals.
func TestCloseKillsEverything(t *testing.T) {
	s := New(Config{})
	w := dial(t, s).open("")
	w.start("stubborn", `trap "" TERM INT HUP; echo $$; while :; do sleep 1; done`, "")
	w.start("tty", `echo $$; exec sleep 60`, `,"tty":true`)
	var pids []int
	for _, id := range []string{"stubborn", "tty"} {
		pid, err := strconv.Atoi(strings.TrimSpace(string(w.event(id).Params.Chunk)))
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	s.Close()
	for _, pid := range pids {
		if err := syscall.Kill(pid, 0); err != syscall.ESRCH {
			t.Errorf("process %d: %v", pid, err)
		}
	}
	if _, err := s.Connect(t.Context()); err != ErrClosed {
		t.Errorf("connect: %v", err)
	}
}

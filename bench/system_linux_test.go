package main

import (
	"crypto/sha1"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

func TestMemory(t *testing.T) {
	self := os.Getpid()
	if err := resetPeak(self); err != nil {
		t.Fatal(err)
	}
	own, errOwn := residentBytes(self)
	peak, errPeak := peakBytes(self)
	if errOwn != nil || errPeak != nil || own < 1*megabyte || own > 1000*megabyte || peak < 1*megabyte {
		t.Errorf("resident %v (%v), peak %v (%v)", own, errOwn, peak, errPeak)
	}

	// A shell that waits keeps its size, and its child has one.
	shell := exec.Command("/bin/sh", "-c", "sleep 60 & echo ready; wait")
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	ready, err := shell.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := shell.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		syscall.Kill(-shell.Process.Pid, syscall.SIGKILL)
		shell.Wait()
	}()
	if _, err := ready.Read(make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	tree, errTree := treeResidentBytes(shell.Process.Pid)
	alone, errAlone := residentBytes(shell.Process.Pid)
	if errTree != nil || errAlone != nil || tree <= alone {
		t.Errorf("tree %v (%v), the shell alone %v (%v)", tree, errTree, alone, errAlone)
	}
}

// The memory of processes is that of those with the name.
func TestResidentBetween(t *testing.T) {
	for _, argv := range [][]string{sleepArgv, sleepArgv, catArgv} {
		cmd := exec.Command(argv[0], argv[1:]...)
		if _, err := cmd.StdinPipe(); err != nil { // for cat, which waits
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
	}
	total, found, err := residentBetween(os.Getpid(), "sleep")
	if err != nil || found != 2 || total <= 0 {
		t.Errorf("%v in %d, %v", total, found, err)
	}
	if total, found, err := residentBetween(os.Getpid(), "no such name"); err != nil || found != 0 || total != 0 {
		t.Errorf("of none: %v in %d, %v", total, found, err)
	}
}

func TestPTY(t *testing.T) {
	small := sizes{spawns: 1, echoes: 3}
	if s, err := bareSpawnTTY(t.Context(), small); err != nil || s["p50"] <= 0 {
		t.Errorf("spawn: %v, %v", s, err)
	}
	if s, err := barePTYEcho(t.Context(), small); err != nil || s["p50"] <= 0 {
		t.Errorf("echo: %v, %v", s, err)
	}
}

// What this program uses counts as its own, and is a part of what is used.
func TestReadUsage(t *testing.T) {
	before, err := readUsage()
	if err != nil {
		t.Fatal(err)
	}
	for begin := time.Now(); time.Since(begin) < 100*time.Millisecond; {
		_ = sha1.Sum(make([]byte, 1<<10))
	}
	after, err := readUsage()
	if err != nil || after.own <= before.own || after.busy < before.busy || after.total <= before.total || after.busy > after.total {
		t.Errorf("from %+v to %+v, %v", before, after, err)
	}
}

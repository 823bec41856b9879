package main

import (
	"os"
	"os/exec"
	"testing"
)

func TestMemory(t *testing.T) {
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		child.Process.Kill()
		child.Wait()
	}()
	self := os.Getpid()
	if err := resetPeak(self); err != nil {
		t.Fatal(err)
	}
	own, errOwn := residentBytes(self)
	peak, errPeak := peakBytes(self)
	tree, errTree := treeResidentBytes(self)
	if errOwn != nil || errPeak != nil || errTree != nil {
		t.Fatal(errOwn, errPeak, errTree)
	}
	if own < 1*megabyte || own > 1000*megabyte || peak < 1*megabyte {
		t.Errorf("resident %v, peak %v", own, peak)
	}
	// The child is counted: the process itself grows less than that in between.
	if of, err := residentBytes(child.Process.Pid); err != nil || tree < own+of/2 {
		t.Errorf("tree %v, alone %v, child %v (%v)", tree, own, of, err)
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

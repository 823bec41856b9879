//go:build unix

package main

import (
	"errors"
	"net"
	"os/exec"
	"testing"
)

// The least server echoes and relays all of it, and is reaped.
func TestLeast(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("the Go command is not installed")
	}
	f, err := newFixtures()
	if err != nil {
		t.Fatal(err)
	}
	defer f.remove()
	size := sizes{streamMiB: 3, roundTrips: 5, fixtures: f}
	if s, err := bareRoundTrip(t.Context(), size); err != nil || s["p50"] <= 0 {
		t.Errorf("round trip: %v, %v", s, err)
	}
	if s, err := bareStreamHead(t.Context(), size); err != nil || s["rate"] <= 0 || s["relay"] <= 0 {
		t.Errorf("stream: %v, %v", s, err)
	}
	size.parallel = 40
	if s, err := bareSpawnParallel(t.Context(), size); err != nil || s["rate"] <= 0 || s["least"] <= 0 {
		t.Errorf("parallel: %v, %v", s, err)
	}
	// Less than was asked for is no rate.
	short := headArgv(size)
	size.streamMiB++
	if rate, err := bareRelay(t.Context(), size, short); err == nil {
		t.Errorf("relayed 3 MiB of 4, at %v", rate)
	}
	// What the client makes of it is reported.
	broken := errors.New("broken")
	if err := withLeast(t.Context(), size, order{Do: "echo"}, func(net.Conn) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

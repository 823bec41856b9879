package arch

import (
	"slices"
	"testing"
)

// sleepers are the files that may sleep, with the reason.
var sleepers = map[string]string{
	"internal/transport/stdio_test.go":     "lets two goroutines block first; the test holds if they don't",
	"internal/transport/websocket_test.go": "is a handler that takes its time, which Close must wait for",
	"internal/transport/wsconn_test.go":    "polls a lock, as nothing tells that the system's buffers are full",
}

// TestNoSleeps asserts that nobody sleeps to wait for something: it takes too
// long when all is well, and is too short on a busy machine. Under
// testing/synctest, where time does not pass, it is right.
func TestNoSleeps(t *testing.T) {
	t.Parallel()
	sleeps := map[string]bool{}
	for _, f := range sources(t) {
		if !slices.Contains(uses(f.ast, "time"), "Sleep") {
			continue
		}
		sleeps[f.name] = true
		if f.test && slices.Contains(f.imports(), "testing/synctest") || sleepers[f.name] != "" {
			continue
		}
		t.Errorf("%s: uses time.Sleep; wait for what you wait for (a channel, a read, an event), use "+
			"testing/synctest, or add the file to sleepers (test/arch/sleeps_test.go) with the reason", f.name)
	}
	for name := range sleepers {
		if !sleeps[name] {
			t.Errorf("%s does not sleep any more: take it off the list (test/arch/sleeps_test.go)", name)
		}
	}
}

package main

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestProgress asserts that only a transfer that takes long is shown, that what else
// is written to the terminal stands alone, and that nothing is left in the end.
func TestProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const erase = "\r\x1b[K"
		var out bytes.Buffer
		p := &progress{w: &out, began: time.Now(), stop: make(chan struct{}), done: make(chan struct{})}
		go p.run()
		// taken returns what has come since, which p.mu guards.
		taken := func() string {
			synctest.Wait()
			p.mu.Lock()
			defer p.mu.Unlock()
			defer out.Reset()
			return out.String()
		}
		p.expect(100)
		p.add(50)
		time.Sleep(progressDelay - 1)
		if got := taken(); got != "" {
			t.Errorf("shown at once: %q", got)
		}
		time.Sleep(progressInterval)
		if got := taken(); !strings.HasPrefix(got, "\r 50%  50B of 100B, ") {
			t.Errorf("shown: %q", got)
		}
		_, err := p.Write([]byte("told\n"))
		if got := taken(); err != nil || got != erase+"told\n" {
			t.Errorf("told: %q, %v", got, err)
		}
		time.Sleep(progressInterval)
		p.end()
		if got := taken(); !strings.HasSuffix(got, erase) {
			t.Errorf("in the end: %q", got)
		}
	})
}

// TestProgressElsewhere asserts that what is no terminal shows nothing.
func TestProgressElsewhere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := startProgress(&out, false)
		time.Sleep(10 * progressDelay)
		p.end()
		if out.Len() > 0 {
			t.Errorf("shown: %q", out.String())
		}
	})
}

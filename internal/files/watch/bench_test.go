package watch

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/airlock-exec/airlock/protocol"
)

// BenchmarkWatch begins to watch 10,000 directories with a file each, and ends.
func BenchmarkWatch(b *testing.B) {
	dir := b.TempDir()
	for i := range 10_000 {
		sub := filepath.Join(dir, fmt.Sprint(i%100), fmt.Sprint(i))
		must(b, os.MkdirAll(sub, 0o755))
		write(b, filepath.Join(sub, "f"), "")
	}
	c := connect(b, new(Budget))
	b.ReportAllocs()
	for b.Loop() {
		c.watch(protocol.WatchParams{Path: uri(b, dir), Recursive: true})
		if _, err := c.Unwatch(b.Context(), &protocol.UnwatchParams{WatchID: "w"}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkChange is from a change to its notification, without the window.
func BenchmarkChange(b *testing.B) {
	dir := b.TempDir()
	c := connect(b, new(Budget))
	c.window = 0
	c.watch(protocol.WatchParams{Path: uri(b, dir), Recursive: true})
	file := filepath.Join(dir, "f")
	write(b, file, "")
	c.next()
	mode := os.FileMode(0o600)
	b.ReportAllocs()
	for b.Loop() {
		mode ^= 0o100
		must(b, os.Chmod(file, mode))
		c.next()
	}
}

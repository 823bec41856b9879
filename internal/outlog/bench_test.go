package outlog

import (
	"sync"
	"testing"

	"github.com/airlock-exec/airlock/internal/limits"
)

// benchmark appends chunks, trims, and walks behind with a reader that keeps up.
func benchmark(b *testing.B, size int, spill *Spill) {
	l := New(Config{Spill: spill})
	defer l.Close()
	var r Reader
	data := make([]byte, size)
	seq := uint64(0)
	step := func() {
		seq++
		l.Append(seq, 0, data)
		l.Trim(everything)
		if c, gap, ok := r.Next(l, seq-1, everything); !ok || gap != nil || c.Seq != seq {
			b.Fatal(c.Seq, gap, ok)
		}
	}
	for range 10_000 { // the file has its size
		step()
	}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		step()
	}
}

func noFailure(tb testing.TB) func(error) {
	return func(err error) { tb.Errorf("spilling failed: %v", err) }
}

func BenchmarkLog(b *testing.B) {
	for _, size := range []struct {
		name  string
		bytes int
	}{{"64KiB", 64 << 10}, {"4KiB", 4 << 10}, {"1byte", 1}} {
		b.Run(size.name+"/memory", func(b *testing.B) { benchmark(b, size.bytes, nil) })
		b.Run(size.name+"/file", func(b *testing.B) {
			benchmark(b, size.bytes, NewSpill(b.TempDir(), 256<<20, 0, noFailure(b)))
		})
	}
}

// BenchmarkCatchUp walks through a file that holds small chunks.
func BenchmarkCatchUp(b *testing.B) {
	for _, size := range []struct {
		name  string
		bytes int
	}{{"64KiB", 64 << 10}, {"100byte", 100}, {"1byte", 1}} {
		b.Run(size.name, func(b *testing.B) {
			l := New(Config{Spill: NewSpill(b.TempDir(), 256<<20, 0, noFailure(b))})
			defer l.Close()
			var r Reader
			data := make([]byte, size.bytes)
			last := min(uint64(128<<20/size.bytes), 1_000_000)
			for seq := uint64(1); seq <= last; seq++ {
				l.Append(seq, 0, data)
				l.Trim(everything)
			}
			b.SetBytes(int64(size.bytes))
			b.ReportAllocs()
			at := uint64(0)
			for b.Loop() {
				c, gap, ok := r.Next(l, at, everything)
				if !ok || gap != nil || c.Seq != at+1 {
					b.Fatal(c.Seq, gap, ok)
				}
				if at = c.Seq; at == last {
					at = 0
				}
			}
		})
	}
}

// BenchmarkTwo has a reader in a goroutine of its own, which holds back the
// process as a connection does.
func BenchmarkTwo(b *testing.B) {
	for _, test := range []struct {
		name  string
		spill *Spill
	}{{"memory", nil}, {"file", NewSpill(b.TempDir(), 256<<20, 0, noFailure(b))}} {
		b.Run(test.name, func(b *testing.B) {
			l := New(Config{Spill: test.spill})
			defer l.Close()
			const size = 64 << 10
			news := newNews(1) // lets the reader be 20 chunks behind
			var reader sync.WaitGroup
			reader.Go(func() {
				var r Reader
				at := uint64(0)
				for done := false; !done; {
					done = news.wait(at + 1)
					for {
						c, _, ok := r.Next(l, at, everything)
						if !ok {
							break
						}
						at = c.Seq
						news.saw(0, at)
					}
				}
			})
			data := make([]byte, size)
			seq := uint64(0)
			b.SetBytes(size)
			b.ReportAllocs()
			for b.Loop() {
				seq++
				l.Append(seq, 0, data)
				l.Trim(everything)
				news.happened(seq, false)
			}
			news.happened(seq, true)
			reader.Wait()
		})
	}
}

// BenchmarkRead reads as much as there is in one read, from the file.
func BenchmarkRead(b *testing.B) {
	l := New(Config{Spill: NewSpill(b.TempDir(), 256<<20, 0, noFailure(b))})
	defer l.Close()
	fill(l, 300, 64<<10)
	b.SetBytes(limits.ReadBytes)
	b.ReportAllocs()
	for b.Loop() {
		if result := l.Read(0, everything, nil); len(result.Chunks) != limits.ReadBytes/(64<<10) {
			b.Fatal(len(result.Chunks))
		}
	}
}

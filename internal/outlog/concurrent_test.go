package outlog

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"
	"testing"

	"github.com/airlock-exec/airlock/internal/limits"
)

// Each stream of these tests is a pattern that repeats: what a byte has to be
// follows from how many came before it.
var pattern = func() []byte {
	p := make([]byte, 1<<20-3)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range p {
		p[i] = byte(random.Uint32())
	}
	return slices.Concat(p, p)
}()

func patternAt(offset uint64, size int) []byte {
	at := offset % uint64(len(pattern)/2)
	return pattern[at : at+uint64(size)]
}

// viewer checks what comes, and waits for more.
type viewer struct {
	t       *testing.T
	name    string
	offset  [streams]uint64
	at      uint64
	dropped int // gaps
}

func (v *viewer) gap(gap *Gap) {
	for stream, n := range gap.Dropped {
		// What was dropped behind us, we have had, or it is missing now.
		if gap.FirstSeq != 0 && n < v.offset[stream] {
			v.t.Errorf("%s: %d bytes of stream %d were dropped before chunk %d, but %d came before it",
				v.name, n, stream, gap.FirstSeq, v.offset[stream])
		}
		v.offset[stream] = n
	}
	v.dropped++
}

// take checks that a chunk is what has to come next. If it is not, nobody could
// tell what should follow, so that is the end.
func (v *viewer) take(c Chunk) {
	want := patternAt(v.offset[c.Stream], len(c.Data))
	if c.Seq <= v.at || !bytes.Equal(c.Data, want) {
		panic(fmt.Sprintf("%s: chunk %d of stream %d after %d is not what follows on %d bytes",
			v.name, c.Seq, c.Stream, v.at, v.offset[c.Stream]))
	}
	v.offset[c.Stream] += uint64(len(c.Data))
	v.at = c.Seq
}

// news lets viewers wait for output, and the process for some of them.
type news struct {
	mu     sync.Mutex
	change sync.Cond
	newest uint64
	done   bool
	seen   []uint64 // by those who set the pace
}

func newNews(pace int) *news {
	n := &news{seen: make([]uint64, pace)}
	n.change.L = &n.mu
	return n
}

// happened tells of output, and waits until those who set the pace are near.
func (n *news) happened(newest uint64, done bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.newest = max(n.newest, newest)
	n.done = done
	n.change.Broadcast()
	for !done && slices.Min(n.seen)+20 < newest {
		n.change.Wait()
	}
}

// saw says how far somebody is who sets the pace.
func (n *news) saw(who int, at uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.seen[who] = at
	n.change.Broadcast()
}

// wait returns when there is a chunk with this number, or an end. It reports
// whether that is so.
func (n *news) wait(seq uint64) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	for n.newest < seq && !n.done {
		n.change.Wait()
	}
	return n.done
}

// TestConcurrency: one process writes on two streams, several viewers read while
// it does, faster and slower than it; each sees every byte in order, or is told
// how many it has missed.
func TestConcurrency(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		spill func(t *testing.T, d *disk) *Spill
	}{
		{"memory", func(*testing.T, *disk) *Spill { return nil }},
		{"small file", func(t *testing.T, _ *disk) *Spill {
			return NewSpill(t.TempDir(), 300<<10, 0, noFailure(t))
		}},
		{"large file", func(t *testing.T, _ *disk) *Spill {
			return NewSpill(t.TempDir(), 1<<30, 0, noFailure(t))
		}},
		{"broken file", func(_ *testing.T, d *disk) *Spill { return d.spill(300<<10, 0) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := &disk{}
			l := New(Config{MemoryBytes: 128 << 10, MemoryChunks: 1000, Spill: test.spill(t, d)})
			defer l.Close()
			const pace = 2 // the others look up now and then
			news := newNews(pace)
			var viewers sync.WaitGroup
			all := make([]*viewer, 6)
			for i := range all {
				v := &viewer{t: t, name: []string{"Read", "Next"}[i%2]}
				all[i] = v
				look := v.read
				if i%2 == 1 {
					look = v.walk()
				}
				viewers.Go(func() {
					random := rand.New(rand.NewPCG(2, uint64(i)))
					for done := false; !done; {
						step := uint64(1)
						if i >= pace {
							step = 1 + random.Uint64N(100)
						}
						done = news.wait(v.at + step)
						for look(l, random) {
						}
						if i < pace {
							news.saw(i, v.at)
						}
					}
				})
			}
			total := write(l, news, d, test.name == "broken file")
			viewers.Wait()
			for _, v := range all {
				if v.offset != total {
					t.Errorf("%s: %v bytes came or were dropped, %v were written", v.name, v.offset, total)
				}
				if v.dropped > 0 && test.name == "large file" {
					t.Errorf("%s: %d gaps", v.name, v.dropped)
				}
			}
		})
	}
}

// write plays the process, whose streams are read by a goroutine each under one
// lock for the numbers. It returns how many bytes it has written.
func write(l *Log, news *news, d *disk, broken bool) [streams]uint64 {
	var mu sync.Mutex
	var total [streams]uint64
	next := uint64(1)
	var readers sync.WaitGroup
	for stream := range streams - 1 {
		readers.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(stream)))
			for i := range 2000 {
				size := 1 + random.IntN(10)
				if i%4 == 0 {
					size = 1 + random.IntN(limits.ChunkBytes/4)
				}
				mu.Lock()
				p := patternAt(total[stream], size)
				if i%2 == 0 || !l.Grow(next-1, stream, p) {
					l.Append(next, stream, p)
					next++
				}
				total[stream] += uint64(size)
				newest := next - 1
				mu.Unlock()
				l.Trim(everything)
				if broken && i%50 == 0 {
					d.mend()
					d.set(func() {
						switch random.IntN(4) {
						case 0:
							d.readFails = syscall.EIO
						case 1:
							d.writeFails = syscall.EIO
						case 2:
							d.room = 100 << 10
						}
					})
				}
				news.happened(newest, false)
			}
		})
	}
	readers.Wait()
	news.happened(next-1, true)
	return total
}

// read makes a read of some size, and reports whether there may be more.
func (v *viewer) read(l *Log, random *rand.Rand) bool {
	most := random.Uint64N(200 << 10)
	result := l.Read(v.at, everything, &most)
	if result.Gap != nil {
		v.gap(result.Gap)
	}
	for _, c := range result.Chunks {
		v.take(c)
	}
	return len(result.Chunks) > 0
}

// walk returns what takes one chunk, and reports whether there may be more.
func (v *viewer) walk() func(*Log, *rand.Rand) bool {
	var r Reader
	return func(l *Log, _ *rand.Rand) bool {
		c, gap, ok := r.Next(l, v.at, everything)
		if gap != nil {
			v.gap(gap)
		}
		if ok {
			v.take(c)
		}
		return ok
	}
}

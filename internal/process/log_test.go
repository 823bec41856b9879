package process

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/internal/spawn"
)

// TestLogAgainstModel compares the ring with a plain list of chunks.
func TestLogAgainstModel(t *testing.T) {
	type entry struct {
		seq    uint64
		stream spawn.Stream
		data   []byte
	}
	rapid.Check(t, func(t *rapid.T) {
		var l outputLog
		var model []entry
		dropped := map[spawn.Stream]uint64{}
		next := uint64(1)
		sealed := uint64(0)
		fill := byte(0)
		output := func() (spawn.Stream, []byte) {
			size := rapid.OneOf(rapid.IntRange(1, 50), rapid.IntRange(1, limits.ChunkBytes)).Draw(t, "size")
			fill++
			return spawn.Stream(rapid.IntRange(0, 1).Draw(t, "stream")), bytes.Repeat([]byte{fill}, size)
		}
		t.Repeat(map[string]func(*rapid.T){
			"append": func(*rapid.T) {
				stream, data := output()
				l.append(next, stream, data)
				model = append(model, entry{next, stream, data})
				next++
			},
			"grow": func(t *rapid.T) {
				stream, data := output()
				grew := l.grow(next-1, stream, data)
				can := false
				if n := len(model); n > 0 {
					last := &model[n-1]
					can = last.seq == next-1 && last.stream == stream && last.seq > sealed &&
						len(last.data)+len(data) <= limits.ChunkBytes
					if can {
						last.data = append(bytes.Clone(last.data), data...)
					}
				}
				if grew != can {
					t.Fatalf("grow returned %v, want %v", grew, can)
				}
			},
			"other event": func(*rapid.T) { next++ },
			"seal": func(*rapid.T) {
				sealed = next - 1
				l.sealed = sealed
			},
			"evict": func(t *rapid.T) {
				pinned := rapid.Uint64Range(0, next).Draw(t, "pinned")
				l.evict(pinned, 0)
				for len(model) > 0 && model[0].seq <= pinned {
					total := 0
					for _, e := range model {
						total += len(e.data)
					}
					if total <= limits.RetainedBytes {
						break
					}
					dropped[model[0].stream] += uint64(len(model[0].data))
					model = model[1:]
				}
			},
			"": func(t *rapid.T) {
				after := rapid.Uint64Range(0, next).Draw(t, "after")
				var want []entry
				for _, e := range model {
					if e.seq > after {
						want = append(want, e)
					}
				}
				got := l.after(after)
				if len(got) != len(want) {
					t.Fatalf("%d chunks after %d, want %d", len(got), after, len(want))
				}
				for i, c := range got {
					data := l.copyOut(nil, c)
					if c.seq != want[i].seq || c.stream != want[i].stream || !bytes.Equal(data, want[i].data) {
						t.Fatalf("chunk %d differs from %d", c.seq, want[i].seq)
					}
				}
				for stream, n := range dropped {
					if l.dropped[stream] != n {
						t.Fatalf("%d bytes of stream %v dropped, want %d", l.dropped[stream], stream, n)
					}
				}
			},
		})
	})
}

func TestLogKeepsAtMostSoManyChunks(t *testing.T) {
	var l outputLog
	for seq := uint64(1); seq <= limits.RetainedChunks+1; seq++ {
		l.append(seq, spawn.Stdout, []byte{'x'})
		l.evict(seq, 0)
	}
	kept := l.after(0)
	if len(kept) != limits.RetainedChunks || kept[0].seq != 2 {
		t.Errorf("%d chunks from %d on, want %d from 2 on", len(kept), kept[0].seq, limits.RetainedChunks)
	}
	if l.dropped[spawn.Stdout] != 1 {
		t.Errorf("dropped %v", l.dropped)
	}
}

// TestLogMemory: a process that prints little must cost little.
func TestLogMemory(t *testing.T) {
	var l outputLog
	for seq := uint64(1); seq <= 10_000; seq++ {
		l.evict(seq, 1000)
		l.append(seq, spawn.Stdout, bytes.Repeat([]byte{'x'}, 1000))
	}
	if len(l.ring) > limits.RetainedBytes {
		t.Errorf("the ring has %d bytes", len(l.ring))
	}
	var small outputLog
	small.append(1, spawn.Stdout, []byte("hello"))
	if len(small.ring) > 4096 {
		t.Errorf("a ring of %d bytes for five", len(small.ring))
	}
}

package outlog

import "github.com/airlock-exec/airlock/internal/limits"

// Newest returns the newest chunks that are kept: as many as there are together in
// most bytes, which are at most limits.RetainedBytes, and at most
// limits.RetainedChunks.
func (l *Log) Newest(most uint64) []Chunk {
	most = min(most, limits.RetainedBytes)
	var result Result
	for ok := false; !ok; ok = !result.Stopped { // that is when the file fails meanwhile, and is dropped
		l.mu.Lock()
		after, before := l.beforeNewest(most), l.newest+1
		l.mu.Unlock()
		result = l.Read(after, before, nil)
	}
	chunks := result.Chunks
	first, total := len(chunks), uint64(0)
	for first > 0 && len(chunks)-first < limits.RetainedChunks {
		total += uint64(len(chunks[first-1].Data))
		if total > most {
			break
		}
		first--
	}
	return chunks[first:]
}

// beforeNewest returns a number after which there are those chunks, and of older
// ones less than a block. The caller holds the lock.
func (l *Log) beforeNewest(most uint64) uint64 {
	inMemory, total := l.chunks.len(), uint64(0)
	for n := range inMemory {
		c := l.chunks.at(inMemory - 1 - n)
		if total += uint64(c.length); total > most || n == limits.RetainedChunks {
			return c.seq
		}
	}
	count := uint64(inMemory)
	for i := l.blocks.len() - 1; i >= 0; i-- {
		b := l.blocks.at(i)
		// A read does not return more than so many, and would leave out the newest.
		if count += uint64(b.chunks); total >= most || count > limits.RetainedChunks {
			return b.last
		}
		total += uint64(b.data())
	}
	return l.droppedSeq
}

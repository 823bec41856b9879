package protocol

import (
	"testing"
)

// startExample is a process/start as an agent sends it.
const startExample = `{"processId":"proc-1734","argv":["/bin/bash","-lc","cd sub && go test ./... 2>&1 | tail -n 50"],"cwd":"file:///home/user/work/project","envPolicy":{"inherit":"all","ignoreDefaultExcludes":false,"exclude":[],"set":{},"includeOnly":[]},"env":{"CODEX_SANDBOX_NETWORK_DISABLED":"1","COLORTERM":"","GH_PAGER":"cat","GIT_PAGER":"cat","LANG":"C.UTF-8","LC_ALL":"C.UTF-8","LC_CTYPE":"C.UTF-8","NO_COLOR":"1","PAGER":"cat","TERM":"dumb"},"tty":false,"pipeStdin":false,"arg0":null,"metadata":{"threadId":"67e55044-10b1-426f-9247-bb680e5fe0c8","toolCallId":"call_1"}}`

func BenchmarkDecodeStart(b *testing.B) {
	raw := []byte(startExample)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Decode[StartParams](raw); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeWrite(b *testing.B) {
	raw, err := Encode(WriteParams{ProcessID: "p", Chunk: noise(64 << 10), WriteID: "w"})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(64 << 10)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Decode[WriteParams](raw); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendOutputNotification(b *testing.B) {
	for name, size := range map[string]int{"64B": 64, "8KiB": 8 << 10, "64KiB": 64 << 10} {
		b.Run(name, func(b *testing.B) {
			n := &OutputNotification{ProcessID: "proc-1734", Seq: 123456, Stream: StreamStdout, Chunk: noise(size)}
			var dst []byte
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				dst = AppendOutputNotification(dst[:0], n)
			}
		})
	}
}

func BenchmarkEncodeReadResult(b *testing.B) {
	r := ReadResult{Chunks: make([]Chunk, 16)}
	for i := range r.Chunks {
		r.Chunks[i] = Chunk{Seq: uint64(i), Stream: StreamStdout, Chunk: noise(64 << 10)}
	}
	b.SetBytes(1 << 20)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Encode(r); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParsePathURI(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParsePathURI("file:///home/user/work/project"); err != nil {
			b.Fatal(err)
		}
	}
}

// noise returns bytes without a pattern that would help a codec.
func noise(size int) []byte {
	out := make([]byte, size)
	x := uint32(1)
	for i := range out {
		x = x*1664525 + 1013904223
		out[i] = byte(x >> 24)
	}
	return out
}

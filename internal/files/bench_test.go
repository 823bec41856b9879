package files

import (
	"os"
	"strconv"
	"testing"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
)

// BenchmarkReadFile reads files into a buffer that is used again, as that of a
// connection is.
func BenchmarkReadFile(b *testing.B) {
	for _, size := range []int{0, 4 << 10, 4 << 20, 64 << 20} {
		b.Run(strconv.Itoa(size), func(b *testing.B) {
			params := &protocol.ReadFileParams{Path: uri(b, put(b, b.TempDir()+"/f", string(noise(size))))}
			f := connection(b)
			var buffer []byte
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				var err error
				buffer, err = readWhole(b.Context(), f, buffer[:0], params)
				must(b, err)
			}
		})
	}
}

func BenchmarkReadBlock(b *testing.B) {
	f := connection(b)
	must(b, open(b, f, "h", put(b, b.TempDir()+"/f", string(noise(limits.FileBlockBytes))), protocol.OpenRead))
	params := &protocol.ReadBlockParams{HandleID: "h", Len: limits.FileBlockBytes}
	var buffer []byte
	b.SetBytes(limits.FileBlockBytes)
	b.ReportAllocs()
	for b.Loop() {
		var err error
		buffer, err = f.AppendReadBlock(b.Context(), buffer[:0], params)
		must(b, err)
	}
}

func BenchmarkGetMetadata(b *testing.B) {
	params := &protocol.GetMetadataParams{Path: uri(b, put(b, b.TempDir()+"/f", "x"))}
	f := connection(b)
	b.ReportAllocs()
	for b.Loop() {
		_, err := f.GetMetadata(b.Context(), params)
		must(b, err)
	}
}

// forest makes directories with 490 files each.
func forest(b *testing.B, directories int) string {
	dir := b.TempDir()
	for d := range directories {
		sub := dir + "/directory-" + strconv.Itoa(d)
		must(b, os.Mkdir(sub, 0o755))
		for f := range 490 {
			must(b, os.WriteFile(sub+"/file-"+strconv.Itoa(f)+".txt", nil, 0o644))
		}
	}
	return dir
}

func BenchmarkWalk(b *testing.B) {
	params := &protocol.WalkParams{Path: uri(b, forest(b, 100)), Options: everything}
	f := connection(b)
	var buffer []byte
	b.ReportAllocs()
	for b.Loop() {
		var err error
		buffer, err = f.AppendWalk(b.Context(), buffer[:0], params)
		must(b, err)
	}
	entries := len(decode[protocol.WalkResult](b, buffer).Entries)
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*entries), "ns/entry")
}

func BenchmarkReadDirectory(b *testing.B) {
	params := &protocol.ReadDirectoryParams{Path: uri(b, forest(b, 1)+"/directory-0")}
	f := connection(b)
	b.ReportAllocs()
	for b.Loop() {
		_, err := f.ReadDirectory(b.Context(), params)
		must(b, err)
	}
}

package search

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
)

func writeFile(t tb, text, dir string) protocol.PathURI {
	t.Helper()
	path := filepath.Join(dir, "f")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return uri(t, path)
}

func TestReadRange(t *testing.T) {
	t.Parallel()
	lines := func(first, count uint64) protocol.ReadRangeParams {
		return protocol.ReadRangeParams{Lines: &protocol.LineRange{First: first, Count: count}}
	}
	bytes := func(offset, length uint64) protocol.ReadRangeParams {
		return protocol.ReadRangeParams{Bytes: &protocol.ByteRange{Offset: offset, Length: length}}
	}
	most := strings.Repeat("x", limits.ReadRangeBytes)
	for _, test := range []struct {
		text   string
		p      protocol.ReadRangeParams
		want   string
		offset uint64
		eof    bool
		cut    bool
	}{
		{"abc", bytes(0, 3), "abc", 0, true, false},
		{"abc", bytes(0, 2), "ab", 0, false, false},
		{"abc", bytes(1, 100), "bc", 1, true, false},
		{"abc", bytes(3, 1), "", 3, true, false},
		{"abc", bytes(1<<40, 1), "", 1 << 40, true, false},
		{"", bytes(0, 1), "", 0, true, false},
		{most + "y", bytes(0, limits.ReadRangeBytes), most, 0, false, false},
		{"a\nb\nc\n", lines(1, 1), "a\n", 0, false, false},
		{"a\nb\nc\n", lines(2, 2), "b\nc\n", 2, true, false},
		{"a\nb\nc\n", lines(3, 9), "c\n", 4, true, false},
		{"a\nb\nc\n", lines(4, 1), "", 6, true, false},
		{"a\nb\nc", lines(3, 1), "c", 4, true, false},
		{"a\nb\nc", lines(4, 1), "", 5, true, false},
		{"a\nb\nc", lines(math.MaxUint64, math.MaxUint64), "", 5, true, false},
		{"\n\n", lines(2, 1), "\n", 1, true, false},
		{"", lines(1, 1), "", 0, true, false},
		{"a\r\nb\r\n", lines(2, 1), "b\r\n", 3, true, false},
		{"a\n" + most, lines(2, 1), most, 2, true, false}, // all there is
		{"a\n" + most + "\n", lines(2, 1), most, 2, false, true},
		{"a\n" + most + "y", lines(2, 1), most, 2, false, true},
		{"a\n" + most[1:] + "\n", lines(2, 1), most[1:] + "\n", 2, true, false},
		{"a\n" + most[1:] + "\nb", lines(2, 1), most[1:] + "\n", 2, false, false},
		{"a\n" + most[1:] + "\nb", lines(2, 2), most[1:] + "\n", 2, false, true},
	} {
		test.p.Path = writeFile(t, test.text, t.TempDir())
		got, err := ReadRange(t.Context(), &test.p)
		if err != nil {
			t.Fatal(err)
		}
		if string(got.DataBase64) != test.want || got.Offset != test.offset || got.EOF != test.eof || got.Truncated != test.cut {
			t.Errorf("%.20q, bytes %v, lines %v: %d bytes %.20q at %d, eof %v, truncated %v", test.text, test.p.Bytes, test.p.Lines,
				len(got.DataBase64), got.DataBase64, got.Offset, got.EOF, got.Truncated)
		}
	}
}

// TestReadLines compares with a naive reader; the texts are longer than a block.
func TestReadLines(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.SampledFrom([]string{"", "a", "\r", "\xff\x00", strings.Repeat("b", blockBytes/8), strings.Repeat("c", blockBytes)})
		parts := rapid.SliceOfN(part, 0, 12).Draw(t, "lines")
		text := strings.Join(parts, "\n")
		first, count := rapid.Uint64Range(1, 14).Draw(t, "first"), rapid.Uint64Range(1, 14).Draw(t, "count")
		all := strings.SplitAfter(text, "\n")
		if all[len(all)-1] == "" {
			all = all[:len(all)-1]
		}
		begin := min(uint64(len(all)), first-1)
		end := min(uint64(len(all)), begin+count)
		before, want := strings.Join(all[:begin], ""), strings.Join(all[begin:end], "")
		cut := len(want) > limits.ReadRangeBytes
		want = want[:min(len(want), limits.ReadRangeBytes)]
		got, err := ReadRange(context.Background(), &protocol.ReadRangeParams{
			Path: writeFile(t, text, dir), Lines: &protocol.LineRange{First: first, Count: count},
		})
		if err != nil {
			t.Fatal(err)
		}
		if string(got.DataBase64) != want || got.Offset != uint64(len(before)) || got.Truncated != cut || got.EOF != (len(before)+len(want) == len(text)) {
			t.Fatalf("%d bytes at %d, eof %v, truncated %v; not %d at %d of %d", len(got.DataBase64), got.Offset, got.EOF, got.Truncated,
				len(want), len(before), len(text))
		}
	})
}

func TestReadRangeRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := writeFile(t, "abc", dir)
	one := &protocol.ByteRange{Length: 1}
	restricting := protocol.RestrictedSandbox(protocol.NetworkRestricted)
	native, err := uri(t, dir).Native()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		p    protocol.ReadRangeParams
		code protocol.Code
		text string
	}{
		{protocol.ReadRangeParams{Path: path}, protocol.CodeInvalidParams, "either bytes or lines"},
		{protocol.ReadRangeParams{Path: path, Bytes: one, Lines: &protocol.LineRange{First: 1, Count: 1}}, protocol.CodeInvalidParams, "not both"},
		{protocol.ReadRangeParams{Path: path, Bytes: &protocol.ByteRange{}}, protocol.CodeInvalidParams, "between 1 and 1048576"},
		{protocol.ReadRangeParams{Path: path, Bytes: &protocol.ByteRange{Length: limits.ReadRangeBytes + 1}}, protocol.CodeInvalidParams, "between 1 and 1048576"},
		{protocol.ReadRangeParams{Path: path, Bytes: &protocol.ByteRange{Offset: math.MaxInt64, Length: 1}}, protocol.CodeInvalidParams, "offset"},
		{protocol.ReadRangeParams{Path: path, Bytes: &protocol.ByteRange{Offset: math.MaxUint64, Length: 1}}, protocol.CodeInvalidParams, "offset"},
		{protocol.ReadRangeParams{Path: path, Lines: &protocol.LineRange{Count: 1}}, protocol.CodeInvalidParams, "lines.first"},
		{protocol.ReadRangeParams{Path: path, Lines: &protocol.LineRange{First: 1}}, protocol.CodeInvalidParams, "lines.count"},
		{protocol.ReadRangeParams{Path: uri(t, dir+"/nothing"), Bytes: one, Sandbox: restricting}, protocol.CodeInvalidRequest, "sandbox"},
		{protocol.ReadRangeParams{Path: uri(t, dir), Bytes: one}, protocol.CodeInvalidRequest, "path `" + native + "` is not a file"},
		{protocol.ReadRangeParams{Path: uri(t, dir+"/nothing"), Bytes: one}, protocol.CodeNotFound, ""},
	} {
		got, err := ReadRange(t.Context(), &test.p)
		wire, ok := errors.AsType[*protocol.Error](err)
		if !ok || wire.Code != test.code || !strings.Contains(wire.Message, test.text) {
			t.Errorf("%+v: %v, %v", test.p, got, err)
		}
	}
}

// TestReadRangeGivenUp looks for a line that is far away.
func TestReadRangeGivenUp(t *testing.T) {
	t.Parallel()
	path := writeFile(t, strings.Repeat("x\n", 2*blockBytes), t.TempDir())
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("given up")
	cancel(why)
	if _, err := ReadRange(ctx, &protocol.ReadRangeParams{Path: path, Lines: &protocol.LineRange{First: 2 * blockBytes, Count: 1}}); !errors.Is(err, why) {
		t.Error(err)
	}
}

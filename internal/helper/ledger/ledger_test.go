package ledger

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestOrder(t *testing.T) {
	t.Parallel()
	var l Ledger
	if l.Remove("a") || l.Len() != 0 || len(l.Records()) != 0 {
		t.Error("an empty ledger holds something")
	}
	for _, record := range []string{"b", "a", "c", "a", "d"} {
		l.Add(record)
	}
	if !l.Remove("c") || l.Remove("c") {
		t.Error("Remove does not tell whether the record was there")
	}
	l.Add("c")
	if diff := cmp.Diff([]string{"b", "a", "d", "c"}, l.Records()); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}

func TestEntries(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ record, want string }{
		{"cgroup /sys/fs/cgroup/x", "+cgroup /sys/fs/cgroup/x\n"},
		{`a"b\`, "+a\"b\\\n"},
		{`"a"`, `+"\"a\""` + "\n"},
		{"two\nlines", `+"two\nlines"` + "\n"},
		{"ü\xff", `+"\u00fc\xff"` + "\n"},
		{" ", "+ \n"},
	} {
		line := AppendAdd(nil, test.record)
		if string(line) != test.want {
			t.Errorf("entry for %q: %q, want %q", test.record, line, test.want)
		}
		var l Ledger
		var d Decoder
		d.Feed(line, &l)
		if diff := cmp.Diff([]string{test.record}, l.Records()); diff != "" {
			t.Errorf("%q (-want +got):\n%s", test.record, diff)
		}
		d.Feed(AppendRemove(nil, test.record), &l)
		if l.Len() != 0 {
			t.Errorf("%q could not be taken off: %q", test.record, l.Records())
		}
	}
}

// What makes no sense is passed over, and what follows still counts.
func TestNonsense(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", MaxRecord)
	for _, nonsense := range []string{
		"", "\n", "+\n", "-\n", "a\n", "?a\n", "+\"a\n", `+"\q"` + "\n", `+""` + "\n",
		"-never there\n", "+" + long + "x\n", strings.Repeat("+", 1<<20) + "\n",
	} {
		var l Ledger
		var d Decoder
		d.Feed([]byte(nonsense+"+"+long+"\n+b\n-b\n"), &l)
		if got := l.Records(); !slices.Equal(got, []string{long}) {
			t.Errorf("after %.20q: %.40q", nonsense, got)
		}
		if len(d.line) > maxLine {
			t.Errorf("after %.20q: the decoder holds %d bytes", nonsense, len(d.line))
		}
	}
}

// The daemon may be killed within a write: half an entry is none, as half a
// path is another path.
func TestHalfAnEntry(t *testing.T) {
	t.Parallel()
	var l Ledger
	var d Decoder
	d.Feed([]byte("+/run/airlock/1\n+/run/air"), &l)
	if diff := cmp.Diff([]string{"/run/airlock/1"}, l.Records()); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}

// Whatever the records, and wherever reads begin and end, the other side ends
// with the same ledger.
func TestSameLedger(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var ours, theirs Ledger
		var d Decoder
		var wire []byte
		text := rapid.OneOf(rapid.SampledFrom([]string{"a", "b", "\n"}), rapid.StringN(1, -1, 40))
		for range rapid.IntRange(0, 30).Draw(t, "entries") {
			record := text.Draw(t, "record")
			if rapid.Bool().Draw(t, "add") {
				ours.Add(record)
				wire = AppendAdd(wire, record)
			} else {
				ours.Remove(record)
				wire = AppendRemove(wire, record)
			}
		}
		for len(wire) > 0 {
			n := rapid.IntRange(1, len(wire)).Draw(t, "read")
			d.Feed(wire[:n], &theirs)
			wire = wire[n:]
		}
		if diff := cmp.Diff(ours.Records(), theirs.Records()); diff != "" {
			t.Errorf("records (-ours +theirs):\n%s", diff)
		}
	})
}

// FuzzDecoder feeds anything: the decoder never holds more than a line, does not
// depend on where reads end, and what it puts on the ledger can be said again.
func FuzzDecoder(f *testing.F) {
	f.Add([]byte("+a\n-a\n+\"b\\n\"\n+c"), 3)
	f.Add([]byte("\n+\n-\n+\"\n+\"\"\n??\n"), 1)
	f.Fuzz(func(t *testing.T, wire []byte, size int) {
		var whole, pieces, again Ledger
		var d, e, g Decoder
		d.Feed(wire, &whole)
		if size > 0 {
			for piece := range slices.Chunk(wire, size) {
				e.Feed(piece, &pieces)
				if len(e.line) > maxLine {
					t.Fatalf("the decoder holds %d bytes", len(e.line))
				}
			}
			if diff := cmp.Diff(whole.Records(), pieces.Records()); diff != "" {
				t.Errorf("records (-whole +pieces):\n%s", diff)
			}
		}
		for _, record := range whole.Records() {
			if !Fits(record) {
				t.Errorf("a record of %d bytes is on the ledger", len(record))
			}
			g.Feed(AppendAdd(nil, record), &again)
		}
		if diff := cmp.Diff(whole.Records(), again.Records()); diff != "" {
			t.Errorf("records (-once +again):\n%s", diff)
		}
	})
}

package main

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestTerminalModes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, output, undo, redo string }{
		{"text", "hello\r\n\x1b]0;title\x07\x1b(B", "", ""},
		{"what an editor sets", "\x1b[?1049h\x1b[?1h\x1b=\x1b[?25l", "\x1b>\x1b[?25h\x1b[?1l\x1b[?1049l", "\x1b[?1049h\x1b[?1h\x1b[?25l\x1b="},
		{"and sets back", "\x1b[?1049h\x1b[?1h\x1b=\x1b[?25lx\x1b[?25h\x1b[?1l\x1b>\x1b[?1049l", "", ""},
		{"several in one", "\x1b[?1000;1006;2004h\x1b[?1006l", "\x1b[?2004l\x1b[?1000l", "\x1b[?1000h\x1b[?2004h"},
		{"modes that are not private", "\x1b[25l\x1b[4h", "", ""},
		{"modes that are not followed", "\x1b[?12h\x1b[?99999999999999999999h\x1b[?;h", "", ""},
		{"colours", "\x1b[1;31mred", "\x1b[0m", ""},
		{"colours that end", "\x1b[1;31mred\x1b[0m\x1b[31mred\x1b[m", "", ""},
		{"lines that scroll", "\x1b[3;9r", "\x1b7\x1b[r\x1b8", ""},
		{"all lines", "\x1b[3;9r\x1b[r", "", ""},
		{"other keys", "\x1b[>4;2m", "\x1b[>4m", "\x1b[>4;2m"},
		{"no other keys", "\x1b[>4;2m\x1b[>4;m\x1b[>4;2m\x1b[>4m", "", ""},
		{"the cursor", "\x1b[5 q", "\x1b[0 q", ""},
		{"a question about the cursor", "\x1b[0q\x1b[>0q", "", ""},
		{"a soft reset", "\x1b[31m\x1b[3;9r\x1b=\x1b[?1h\x1b[?25l\x1b[!p", "", ""},
		{"a reset", "\x1b[31m\x1b[?1049h\x1b[5 q\x1bc", "", ""},
		{"a sequence in a sequence", "\x1b[?10\x1b[?1049h", "\x1b[?1049l", "\x1b[?1049h"},
		{"a sequence that is none", "\x1b[?1\r049h\x1b[?1\x80h", "", ""},
		{"an endless sequence", "\x1b[?1049" + strings.Repeat(";1049", 100) + "h", "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var m terminalModes
			m.note([]byte(test.output))
			if undo, redo := m.undo(), m.redo(); undo != test.undo || redo != test.redo {
				t.Errorf("undo %q, redo %q, want %q and %q", undo, redo, test.undo, test.redo)
			}
			m.forget()
			if undo := m.undo(); undo != "" {
				t.Errorf("%q is not forgotten", undo)
			}
		})
	}
}

// TestTerminalModesOfPieces asserts that it makes no difference how output is cut,
// and that what undo returns undoes everything.
func TestTerminalModesOfPieces(t *testing.T) {
	t.Parallel()
	alphabet := []string{"x", "\x1b", "[", "?", ">", ";", "1", "4", "25", "1049", "2004", "h", "l", "m", "r", " ", "q", "=", "c", "!", "p", "\r"}
	rapid.Check(t, func(t *rapid.T) {
		output := strings.Join(rapid.SliceOf(rapid.SampledFrom(alphabet)).Draw(t, "output"), "")
		var whole, pieces terminalModes
		whole.note([]byte(output))
		for rest := output; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "length")
			pieces.note([]byte(rest[:n]))
			rest = rest[n:]
		}
		if whole.undo() != pieces.undo() || whole.redo() != pieces.redo() {
			t.Fatalf("%q in pieces gives %q, otherwise %q", output, pieces.undo(), whole.undo())
		}
		whole.note([]byte(whole.undo()))
		if undo := whole.undo(); undo != "" {
			t.Fatalf("behind what undoes everything, %q is left to undo", undo)
		}
	})
}

func FuzzTerminalModes(f *testing.F) {
	f.Add([]byte("\x1b[?1049h\x1b[1;31m\x1b[>4;2mtext"))
	f.Fuzz(func(t *testing.T, output []byte) {
		var m terminalModes
		m.note(output)
		if len(m.sequence) > sequenceBytes {
			t.Errorf("%d bytes of a sequence are kept", len(m.sequence))
		}
		if len(m.changed) > len(usualModes) {
			t.Errorf("%d modes are kept", len(m.changed))
		}
	})
}

package main

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestDetachReader(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, typed, want string
		detaches          bool
	}{
		{"nothing", "", "", false},
		{"keys", "abc\x11", "abc\x11", false},
		{"Ctrl-P among others", "a\x10b", "a\x10b", false},
		{"Ctrl-P at the end", "a\x10", "a\x10", false},
		{"detach", "ab\x10\x11cd", "ab", true},
		{"detach at once", "\x10\x11", "", true},
		{"twice Ctrl-P", "\x10\x10\x11cd", "\x10", true},
		{"not in between", "\x10x\x11\x10", "\x10x\x11\x10", false},
	} {
		for name, reader := range map[string]io.Reader{
			"at once": strings.NewReader(test.typed), "key by key": iotest.OneByteReader(strings.NewReader(test.typed)),
		} {
			t.Run(test.name+" "+name, func(t *testing.T) {
				t.Parallel()
				detached := 0
				var got bytes.Buffer
				_, err := got.ReadFrom(&detachReader{in: reader, detached: func() { detached++ }})
				if got.String() != test.want {
					t.Errorf("got %q, want %q", got.String(), test.want)
				}
				switch {
				case test.detaches && (detached != 1 || !errors.Is(err, errHangup)):
					t.Errorf("detached %d times, and then %v", detached, err)
				case !test.detaches && (detached != 0 || err != nil):
					t.Errorf("detached %d times, %v", detached, err)
				}
			})
		}
	}
}

package plan

import (
	"math"
	"syscall"
	"testing"
)

var messages = []Message{
	Assign{},
	Signal{1},
	Signal{64},
	Listeners{0},
	Listeners{MaxListeners},
	Answer{Step: Executing},
	Answer{Step: Mounting, Index: math.MaxInt32, Errno: syscall.ENOENT, Detail: "/gone"},
	Denial{},
	Denial{What: "connect", Path: "/run/x", Address: "unix", Count: math.MaxUint64},
	End{},
	End{Code: 137, Signal: 9},
	End{Code: 255},
}

func TestMessages(t *testing.T) {
	t.Parallel()
	for _, m := range messages {
		b := AppendMessage(nil, m)
		if got, err := DecodeMessage(b); err != nil || got != m {
			t.Errorf("%#v, %v; want %#v", got, err, m)
		}
		if got, err := DecodeMessage(append(b, 0)); err == nil {
			t.Errorf("%#v with something behind: %#v", m, got)
		}
		for n := range b {
			if got, err := DecodeMessage(b[:n]); err == nil {
				t.Errorf("the first %d bytes of %#v: %#v", n, m, got)
			}
		}
	}
}

func TestDecodeMessageRefuses(t *testing.T) {
	t.Parallel()
	for name, b := range map[string][]byte{
		"a kind that there is none of": {99},
		"a signal too high":            AppendMessage(nil, Signal{65}),
		"too many sockets":             AppendMessage(nil, Listeners{MaxListeners + 1}),
		"an exit code too high":        AppendMessage(nil, End{Code: 256}),
		"a number too long":            {signalMessage, 0x81, 0x00},
	} {
		if m, err := DecodeMessage(b); err == nil {
			t.Errorf("%s: %#v", name, m)
		}
	}
}

// What is decoded is what would be encoded so.
func FuzzDecodeMessage(f *testing.F) {
	for _, m := range messages {
		f.Add(AppendMessage(nil, m))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := DecodeMessage(b)
		if err != nil {
			return
		}
		if again := string(AppendMessage(nil, m)); again != string(b) {
			t.Errorf("%q is decoded, and encoded as %q", b, again)
		}
	})
}

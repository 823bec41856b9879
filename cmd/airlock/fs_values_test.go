package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/airlock-exec/airlock/client"
	"github.com/airlock-exec/airlock/protocol"
)

func TestInterval(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]interval{
		"0-511": {0, 511, true}, "7": {7, 7, true}, "7-7": {7, 7, true}, "100-": {100, math.MaxInt64 - 1, true},
	} {
		var i interval
		if err := i.UnmarshalText([]byte(text)); err != nil || i != want || i.length() <= 0 {
			t.Errorf("%s is read as %v, %v", text, i, err)
		}
	}
	for _, text := range []string{"", "-", "-5", "a", "2-1", "1-2-3", "1:2", "+1", "99999999999999999999", "0x1", "1-a", " 1"} {
		if err := new(interval).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is read", text)
		}
	}
}

func TestLineWriter(t *testing.T) {
	t.Parallel()
	const text = "1\n2\n3\n4\n5"
	for _, test := range []struct {
		skip, left int64
		want       string
		done       bool
	}{
		{0, 9, text, false}, {0, 1, "1\n", true}, {1, 2, "2\n3\n", true}, {4, 1, "5", false}, {5, 1, "", false}, {3, 1, "4\n", true},
	} {
		for size := 1; size <= len(text); size++ {
			var got bytes.Buffer
			w := &lineWriter{w: &got, skip: test.skip, left: test.left}
			var err error
			for rest := text; rest != "" && err == nil; {
				piece := rest[:min(size, len(rest))]
				_, err = w.Write([]byte(piece))
				rest = rest[len(piece):]
			}
			if got.String() != test.want || errors.Is(err, errLinesDone) != test.done {
				t.Errorf("%d lines behind %d, %d bytes at a time: %q, %v", test.left, test.skip, size, got.String(), err)
			}
		}
	}
}

func TestProgressText(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		moved, total int64
		want         string
	}{
		{5 << 20, 0, "5.0MB, 512KB/s"},
		{5 << 20, 20 << 20, " 25%  5.0MB of 20MB, 512KB/s, 30s left"},
		{30 << 20, 20 << 20, "30MB, 3.0MB/s"},
		{0, 10, "  0%  0B of 10B, 0B/s"},
	} {
		if got := progressText(test.moved, test.total, 10*time.Second); !strings.Contains(got, test.want) {
			t.Errorf("%d of %d: %q, want %q", test.moved, test.total, got, test.want)
		}
	}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	info := &protocol.EnvironmentInfo{PlatformOS: "linux"}
	refused := &protocol.Error{Code: protocol.CodeNotFound, Message: "No such file or directory (os error 2)"}
	for _, test := range []struct {
		name   string
		err    error
		want   string
		status int
		about  bool
	}{
		{"path", &fs.PathError{Op: "stat", Path: "file:///a%0Ab", Err: refused}, `/a\nb: No such file or directory`, 1, true},
		{"local", &fs.PathError{Op: "open", Path: "x", Err: syscall.ENOENT}, "x: no such file or directory", 1, true},
		{
			"two paths", &os.LinkError{Op: "copy", Old: "file:///a", New: "file:///b", Err: refused},
			"/a to /b: No such file or directory", 1, true,
		},
		{"typed", &pathError{"x\x1b", errEmptyPath}, `x\x1b: the path is empty`, 1, true},
		{"text with escapes", &fs.PathError{Path: "file:///a", Err: &protocol.Error{Message: "\x1b[2J"}}, `/a: \x1b[2J`, 1, true},
		{"nobody reads", &fs.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.EPIPE}, "", 141, true},
		{"lost", &fs.PathError{Path: "file:///a", Err: client.ErrDisconnected}, "/a: disconnected", 1, false},
		{"session", fmt.Errorf("%w: the secret", client.ErrSessionLost), "the executor has been restarted", 1, false},
		{"unsupported", unsupported("moving", "f", "do not"), "moving: this executor can't do that: it lacks the feature f", 1, false},
		{"interrupted", &fs.PathError{Path: "file:///a", Err: &interruptError{syscall.SIGINT}}, "/a: ended by a signal", 1, false},
		{"cancelled", context.Canceled, "context canceled", 1, false},
		{"status", &exitError{2, &fs.PathError{Path: "file:///a", Err: refused}}, "/a: No such file", 2, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var stderr bytes.Buffer
			explained := explain(info, test.err)
			if status := report(&stderr, "fs ls", explained); status != test.status {
				t.Errorf("status %d, want %d", status, test.status)
			}
			if text := stderr.String(); !strings.Contains(text, test.want) || strings.Contains(text, "secret") {
				t.Errorf("text %q, want %q", text, test.want)
			}
			if isAbout(test.err) != test.about {
				t.Errorf("isAbout is %v", !test.about)
			}
			if again := explain(info, explained); again.Error() != explained.Error() {
				t.Errorf("explained twice it is %q", again)
			}
		})
	}
}

func TestGrepStatus(t *testing.T) {
	t.Parallel()
	failed := errors.New("no luck")
	for _, test := range []struct {
		err     error
		matched bool
		want    int
	}{
		{nil, true, 0}, {nil, false, 1}, {failed, true, 2}, {failed, false, 2}, {statusError(1), true, 2}, {statusError(141), true, 141},
	} {
		if got := report(new(bytes.Buffer), "fs grep", grepStatus(test.err, test.matched)); got != test.want {
			t.Errorf("%v, %v: status %d, want %d", test.err, test.matched, got, test.want)
		}
	}
}

// TestGrepText asserts that what is found can't play with a terminal, but looks like
// source code.
func TestGrepText(t *testing.T) {
	t.Parallel()
	match := &protocol.SearchMatch{Text: "\tif a == '\\\\' {\x1b[2J\u202e"}
	h := hostOf(t, "linux", "")
	g := &grep{host: h}
	if got := g.lineText(match); got != match.Text {
		t.Errorf("for programs: %q", got)
	}
	h.out.terminal = true
	if got, want := g.lineText(match), "\tif a == '\\\\' {\\x1b[2J\\u202e"; got != want {
		t.Errorf("for people: %q, want %q", got, want)
	}
	match.TextStart = 9
	if got := g.lineText(match); !strings.HasPrefix(got, "…") {
		t.Errorf("a part of a line is %q", got)
	}
}

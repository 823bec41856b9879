package transport

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/airlock-exec/airlock/internal/limits"
)

// recorder is the writing side of a stdio connection in tests.
type recorder struct {
	writes []string
	closed bool
	err    error
}

func (r *recorder) Write(p []byte) (int, error) {
	r.writes = append(r.writes, string(p))
	return len(p), r.err
}

func (r *recorder) Close() error { r.closed = true; return nil }

func readAll(c Conn) (messages []string, err error) {
	for {
		message, err := c.Read()
		if err != nil {
			return messages, err
		}
		messages = append(messages, string(message))
	}
}

func TestStdioRead(t *testing.T) {
	long := strings.Repeat("x", 3*stdioBuffer)
	exact := strings.Repeat("y", stdioBuffer)
	for name, tt := range map[string]struct {
		input string
		want  []string
	}{
		"empty":               {"", nil},
		"lines":               {"a\nb\n", []string{"a", "b"}},
		"CRLF":                {"a\r\nb\r\n", []string{"a", "b"}},
		"inner CR":            {"a\rb\n", []string{"a\rb"}},
		"blank lines":         {"\n\r\n \t \na\n\n", []string{"a"}},
		"spaces are kept":     {" a \n", []string{" a "}},
		"no final newline":    {"a\nb", []string{"a", "b"}},
		"final CR":            {"a\nb\r", []string{"a", "b"}},
		"final blanks":        {"a\n  ", []string{"a"}},
		"UTF-8":               {"é\n", []string{"é"}},
		"longer than buffer":  {long + "\nb\n" + long + "\r\nc\n", []string{long, "b", long, "c"}},
		"as long as buffer":   {exact + "\nb\n", []string{exact, "b"}},
		"buffer with newline": {exact[1:] + "\nb\n", []string{exact[1:], "b"}},
		"long without end":    {long, []string{long}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, reader := range []io.Reader{
				strings.NewReader(tt.input),
				&slowReader{strings.NewReader(tt.input)},
			} {
				c := NewStdio(io.NopCloser(reader), &recorder{})
				got, err := readAll(c)
				if err != io.EOF {
					t.Error(err)
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Error(diff)
				}
				// At the end of the input answers can still be written.
				if err := c.Write([][]byte{[]byte("late")}); err != nil {
					t.Error(err)
				}
				c.Close(nil)
			}
		})
	}
}

// slowReader reads a few bytes at a time, as from a pipe.
type slowReader struct{ io.Reader }

func (r *slowReader) Read(p []byte) (int, error) { return r.Reader.Read(p[:min(len(p), 7001)]) }

func TestStdioReadErrors(t *testing.T) {
	for name, tt := range map[string]struct {
		input io.Reader
		want  error
	}{
		"invalid UTF-8":         {strings.NewReader("a\n\xff\nb\n"), ErrInvalidUTF8},
		"invalid UTF-8, no end": {strings.NewReader("a\n\xff"), ErrInvalidUTF8},
		"read error":            {io.MultiReader(strings.NewReader("a\nb"), failing{}), ErrClosed},
	} {
		t.Run(name, func(t *testing.T) {
			out := &recorder{}
			c := NewStdio(io.NopCloser(tt.input), out)
			got, err := readAll(c)
			if !cmp.Equal(got, []string{"a"}) || !errors.Is(err, tt.want) {
				t.Errorf("%q, %v", got, err)
			}
			if _, err := c.Read(); err != ErrClosed {
				t.Errorf("read after that: %v", err)
			}
			if err := c.Write([][]byte{nil}); err != ErrClosed || !out.closed {
				t.Errorf("write after that: %v", err)
			}
		})
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error)  { return 0, errors.New("broken") }
func (failing) Write([]byte) (int, error) { return 0, errors.New("broken") }
func (failing) Close() error              { return nil }

func TestStdioLineLimit(t *testing.T) {
	if testing.Short() {
		t.Skip("slow with the race detector")
	}
	line := bytes.Repeat([]byte("x"), limits.MessageBytes)
	for name, tt := range map[string]struct {
		input io.Reader
		want  error
	}{
		"at the limit":       {io.MultiReader(bytes.NewReader(line), strings.NewReader("\nnext\n")), nil},
		"above":              {io.MultiReader(bytes.NewReader(line), strings.NewReader("x\nnext\n")), ErrMessageTooBig},
		"above, without end": {io.MultiReader(bytes.NewReader(line), strings.NewReader("x"), endless{}), ErrMessageTooBig},
	} {
		t.Run(name, func(t *testing.T) {
			c := NewStdio(io.NopCloser(tt.input), &recorder{})
			got, err := c.Read()
			if err != tt.want || err == nil && len(got) != len(line) {
				t.Errorf("%d bytes, %v", len(got), err)
			}
			if err == nil {
				expectMessage(t, c, []byte("next"))
				if n := cap(c.(*stdioConn).line); n > keptBuffer {
					t.Errorf("a buffer of %d bytes is kept", n)
				}
			}
		})
	}
}

// endless never ends its line.
type endless struct{}

func (endless) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestStdioWrite(t *testing.T) {
	out := &recorder{}
	c := NewStdio(io.NopCloser(strings.NewReader("")), out)
	write := func(batch ...string) []string {
		t.Helper()
		out.writes = nil
		var messages [][]byte
		for _, message := range batch {
			messages = append(messages, []byte(message))
		}
		if err := c.Write(messages); err != nil {
			t.Fatal(err)
		}
		if got, want := strings.Join(out.writes, ""), strings.Join(batch, "\n")+"\n"; len(batch) > 0 && got != want {
			t.Errorf("wrote %.100q, want %.100q", got, want)
		}
		return out.writes
	}
	if n := len(write("a", "b", "{}")); n != 1 {
		t.Errorf("a small batch took %d writes", n)
	}
	if n := len(write()); n != 0 {
		t.Errorf("nothing took %d writes", n)
	}
	for d := -3; d <= 3; d++ {
		message := strings.Repeat("x", stdioBuffer+d)
		write(message)
		write("a", message, "b")
		write(message, message)
		write(message[:stdioBuffer/2+d], message[:stdioBuffer/2+d], "c")
	}
	if n := cap(c.(*stdioConn).out); n > 2*stdioBuffer {
		t.Errorf("a buffer of %d bytes is kept", n)
	}
	if c.Origin() != "JSON-RPC message from exec-server stdio" {
		t.Error(c.Origin())
	}

	c = NewStdio(io.NopCloser(strings.NewReader("")), failing{})
	if err := c.Write([][]byte{nil}); !errors.Is(err, ErrClosed) || !strings.Contains(err.Error(), "broken") {
		t.Error(err)
	}
	if _, err := c.Read(); err != ErrClosed {
		t.Error(err)
	}
}

// stdioPipes returns a connection over operating system pipes and the other ends.
func stdioPipes(t *testing.T, pipe func(t *testing.T) (r, w *os.File)) (c Conn, toConn, fromConn *os.File) {
	inR, inW := pipe(t)
	outR, outW := pipe(t)
	t.Cleanup(func() { inW.Close(); outR.Close() })
	return NewStdio(inR, outW), inW, outR
}

func osPipe(t *testing.T) (r, w *os.File) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	return r, w
}

// pipeKinds are ways in which a file may or may not be interruptible.
var pipeKinds = map[string]func(t *testing.T) (r, w *os.File){
	"pollable": osPipe,
	"blocking": blockingPipe,
}

func TestStdioOverPipes(t *testing.T) {
	for name, pipe := range pipeKinds {
		t.Run(name, func(t *testing.T) {
			c, to, from := stdioPipes(t, pipe)
			other := NewStdio(from, to)
			exchangeLines(t, c, other)
			// The end of the one's output is the end of the other's input.
			other.Close(nil)
			if _, err := c.Read(); err != io.EOF {
				t.Error(err)
			}
			c.Close(nil)
		})
	}
}

func exchangeLines(t *testing.T, a, b Conn) {
	t.Helper()
	batch := [][]byte{[]byte("hello"), bytes.Repeat([]byte("é"), 100_000), []byte("x")}
	for _, way := range [][2]Conn{{a, b}, {b, a}} {
		written := make(chan error, 1)
		go func() { written <- way[0].Write(batch) }()
		for _, want := range batch {
			expectMessage(t, way[1], want)
		}
		if err := <-written; err != nil {
			t.Fatal(err)
		}
	}
}

func TestStdioCloseEndsReadAndWrite(t *testing.T) {
	for name, pipe := range pipeKinds {
		t.Run(name, func(t *testing.T) {
			c, to, _ := stdioPipes(t, pipe)
			if _, err := to.WriteString("first\nsecond\n"); err != nil {
				t.Fatal(err)
			}
			expectMessage(t, c, []byte("first"))
			expectMessage(t, c, []byte("second"))
			readErr, writeErr := make(chan error, 1), make(chan error, 1)
			go func() { _, err := c.Read(); readErr <- err }()
			go func() { writeErr <- c.Write([][]byte{make([]byte, 1<<20)}) }()
			time.Sleep(10 * time.Millisecond) // let them block; it holds without, too
			begun := time.Now()
			c.Close(nil)
			c.Close(nil)
			if err := <-readErr; err != ErrClosed {
				t.Errorf("read: %v", err)
			}
			if err := <-writeErr; err != ErrClosed {
				t.Errorf("write: %v", err)
			}
			if took := time.Since(begun); took > time.Second {
				t.Errorf("close took %v", took)
			}
			if _, err := c.Read(); err != ErrClosed {
				t.Errorf("read after close: %v", err)
			}
		})
	}
}

package spawn

import (
	"errors"
	"sync"
	"testing"
)

func TestResize(t *testing.T) {
	t.Parallel()
	s := newSpawner(t)
	cmd := onTerminal(shell("trap 'stty size' WINCH; echo ready; while :; do sleep 0.01; done"))
	p, r := start(t, s, cmd)
	r.await(t, Terminal, "ready")
	for size, want := range map[Size]string{
		{Rows: 1, Cols: 1}:         "1 1\r\n",
		{Rows: 50, Cols: 132}:      "50 132\r\n",
		{Rows: 65535, Cols: 65535}: "65535 65535\r\n",
	} {
		if err := p.Resize(size); err != nil {
			t.Fatal(err)
		}
		r.await(t, Terminal, want)
	}
	p.Kill()
	<-r.closed
	if err := p.Resize(Size{Rows: 2, Cols: 2}); err != nil {
		t.Errorf("after the end: %v", err)
	}
}

func TestResizeWithoutTerminal(t *testing.T) {
	t.Parallel()
	s := newSpawner(t)
	p, r := start(t, s, &Command{Argv: []string{"/bin/cat"}, Dir: "/", Stdin: true})
	if err := p.Resize(Size{Rows: 2, Cols: 2}); !errors.Is(err, ErrNoTerminal) {
		t.Errorf("error %v, want %v", err, ErrNoTerminal)
	}
	p.CloseStdin()
	<-r.closed
	if err := p.Resize(Size{Rows: 2, Cols: 2}); !errors.Is(err, ErrNoTerminal) {
		t.Errorf("after the end: error %v, want %v", err, ErrNoTerminal)
	}
}

// A terminal is resized while it is closed and its number is given to others,
// which must not be touched.
func TestResizeWhileClosing(t *testing.T) {
	t.Parallel()
	s := newSpawner(t)
	other, r := start(t, s, onTerminal(shell("echo ready; read x; stty size")))
	r.await(t, Terminal, "ready")
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			p, r := start(t, s, onTerminal(shell("exit")))
			for {
				if err := p.Resize(Size{Rows: 7, Cols: 7}); err != nil {
					t.Error(err)
				}
				select {
				case <-r.closed:
					return
				default:
				}
			}
		})
	}
	all.Wait()
	if err := other.Write([]byte("\n")); err != nil {
		t.Fatal(err)
	}
	<-r.closed
	r.await(t, Terminal, "24 80")
}

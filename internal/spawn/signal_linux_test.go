package spawn

import (
	"errors"
	"strings"
	"testing"
)

// Every signal reaches the whole group, and only what is there.
func TestSignal(t *testing.T) {
	t.Parallel()
	s := newSpawner(t)
	codes := map[Signal]int{HUP: 129, INT: 130, QUIT: 131, KILL: 137, USR1: 138, USR2: 140, TERM: 143}
	for sig, want := range codes {
		for _, tty := range []bool{false, true} {
			cmd := shell("sleep 1000 & echo $!; wait; wait")
			if tty {
				onTerminal(cmd)
			}
			p, r := start(t, s, cmd)
			stream := Stdout
			if tty {
				stream = Terminal
			}
			r.await(t, stream, "\n")
			// A shell has its background children ignore INT and QUIT.
			wait := func() {}
			if sig != INT && sig != QUIT {
				wait = death(t, number(t, r.text(stream)))
			}
			if delivered, err := p.Signal(sig); !delivered || err != nil {
				t.Errorf("%s: delivered %v, %v", sig, delivered, err)
			}
			<-r.exited
			wait()
			p.Kill()
			<-r.closed
			if r.code != want {
				t.Errorf("%s (tty %v): exit code %d, want %d", sig, tty, r.code, want)
			}
			if delivered, err := p.Signal(sig); delivered || err != nil {
				t.Errorf("%s after the end: delivered %v, %v", sig, delivered, err)
			}
		}
	}
}

// One stops, another goes on. The script starts nobody: the parent of a child that
// has been stopped before its execve can neither stop nor go on.
func TestSignalStopAndContinue(t *testing.T) {
	t.Parallel()
	s := newSpawner(t)
	p, r := start(t, s, shell("trap 'echo on' CONT; trap 'echo size' WINCH; echo ready; while :; do :; done"))
	r.await(t, Stdout, "ready\n")
	send := func(sig Signal) {
		t.Helper()
		if delivered, err := p.Signal(sig); !delivered || err != nil {
			t.Fatalf("%s: delivered %v, %v", sig, delivered, err)
		}
	}
	send(STOP)
	for statFields(p.PID())[0] != "T" {
	}
	send(CONT)
	r.await(t, Stdout, "on\n")
	send(WINCH)
	r.await(t, Stdout, "size\n")
	send(KILL)
	<-r.closed
}

func TestSignalUnknown(t *testing.T) {
	t.Parallel()
	s := newSpawner(t)
	p, r := start(t, s, shell("sleep 1000"))
	for _, sig := range []Signal{"", "SEGV", "SIGTERM", "term", "9"} {
		delivered, err := p.Signal(sig)
		if delivered || !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), `"`+string(sig)+`"`) {
			t.Errorf("%q: delivered %v, %v", sig, delivered, err)
		}
	}
	p.Kill()
	<-r.closed
}

// A process that has died is not signalled, also before that has been noticed.
func TestSignalAfterExit(t *testing.T) {
	t.Parallel()
	s := newSpawner(t)
	p, r := start(t, s, shell("sleep 1000 & exit 3"))
	for statFields(p.PID())[0] != "Z" {
	}
	if delivered, err := p.Signal(TERM); delivered || err != nil {
		t.Errorf("delivered %v, %v", delivered, err)
	}
	<-r.exited
	p.Kill()
	<-r.closed
}

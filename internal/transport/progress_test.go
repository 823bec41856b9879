package transport

import (
	"net"
	"runtime"
	"testing"
)

// TestProgress: over TCP, progress is what the peer takes and not what the system
// takes from us.
func TestProgress(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	near, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	far, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	conn := newCorkConn(near, nil)
	defer conn.Close()
	before := conn.progress()
	written := make(chan error, 1)
	go func() {
		_, err := conn.Write(make([]byte, 64<<20)) // more than both sides' buffers hold
		written <- err
	}()
	halfway := false
	buffer := make([]byte, 1<<20)
	for taken := 0; taken < 64<<20; {
		n, err := far.Read(buffer)
		if err != nil {
			t.Fatal(err)
		}
		taken += n
		if !halfway && taken >= 32<<20 && runtime.GOOS == "linux" {
			halfway = true // and the one write is still under way
			if conn.progress() == before {
				t.Error("no progress while half of a write was taken")
			}
		}
	}
	if err := <-written; err != nil {
		t.Fatal(err)
	}
	if after := conn.progress(); after < before+64<<20 {
		t.Errorf("progress went from %d to %d", before, after)
	}
}

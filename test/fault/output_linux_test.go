package fault

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/airlock-exec/airlock/client"
)

// collect takes all events of a process and calls each after every one. It
// returns the output; each number has to come once and in order.
func collect(t *testing.T, p *client.Process, each func()) string {
	t.Helper()
	var out bytes.Buffer
	var last uint64
	for {
		event, err := p.Next(t.Context())
		if errors.Is(err, io.EOF) {
			return out.String()
		}
		if err != nil {
			t.Fatalf("after %d bytes, number %d: %v", out.Len(), last, err)
		}
		if event.Seq != last+1 {
			t.Fatalf("number %d follows %d: %+v", event.Seq, last, event)
		}
		last = event.Seq
		out.Write(event.Data)
		each()
	}
}

// numbers is what `seq 1 n` prints.
func numbers(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintln(&b, i+1)
	}
	return b.String()
}

// TestVolumeCutCable: whatever happens to the cable, a client gets exactly what the
// command has printed.
func TestVolumeCutCable(t *testing.T) {
	const fast = "seq 1 1000000"
	const slow = "for i in $(seq 1 200); do seq $((i * 5000 - 4999)) $((i * 5000)); sleep 0.02; done"
	for _, test := range []struct {
		name, script string
		damage       func(c *cable)
	}{
		{"fast", fast, (*cable).cut},
		{"slow", slow, (*cable).cut},
		{"fast, half closed", fast, (*cable).halfClose},
		{"slow, without a word", slow, (*cable).abandon},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			const times = 200 / share
			d := serve(t)
			c := newCable(t, d.address())
			p := start(t, dial(t, c.url()), "p", test.script, false)
			var damaged atomic.Int64
			var damaging sync.WaitGroup
			defer damaging.Wait()
			damaging.Go(func() {
				// Each connection lives for a while: from nothing to some reads.
				for seen := 0; damaged.Load() < times; {
					<-time.After(time.Duration(rand.IntN(15)) * time.Millisecond)
					if now := c.connections(); now > seen {
						seen = now
						test.damage(c)
						damaged.Add(1)
					}
				}
			})
			events := 0
			got := collect(t, p, func() {
				// Not faster than the cable is damaged.
				for events++; damaged.Load() < min(times, 2*int64(events)); {
					<-time.After(time.Millisecond)
				}
			})
			if got != numbers(1_000_000) {
				t.Errorf("%d bytes came, want %d", len(got), len(numbers(1_000_000)))
			}
		})
	}
}

// TestBadCable: one byte at a time, or late, is still everything.
func TestBadCable(t *testing.T) {
	for name, f := range map[string]fault{
		"one byte at a time": {oneByte: true},
		"late":               {delay: 3 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			d := serve(t)
			c := newCable(t, d.address())
			c.set(f)
			p := start(t, dial(t, c.url()), "p", "seq 1 5000", false)
			if got := collect(t, p, func() {}); got != numbers(5000) {
				t.Errorf("%d bytes came", len(got))
			}
		})
	}
}

// TestHalfDeadConnection: a client whose connection is gone without the
// executor having noticed gets its session back.
func TestHalfDeadConnection(t *testing.T) {
	d := serve(t)
	c := newCable(t, d.address())
	e := dial(t, c.url())
	p := start(t, e, "p", "echo before; read x; echo after", true)
	up(t, p)
	c.abandon()
	if err := p.Write(t.Context(), []byte("\n")); err != nil {
		t.Fatal(err)
	}
	if code, err := p.Wait(t.Context()); err != nil || code != 0 {
		t.Errorf("exit code %d, %v", code, err)
	}
}

// TestVolumeStalledClient: a client that takes nothing holds its process back for a
// while only, costs little, loses nothing that the file holds, and is told
// exactly what the file does not.
func TestVolumeStalledClient(t *testing.T) {
	const total = 500 << 20 / share
	for name, file := range map[string]uint64{"256MiB": 256 << 20 / share, "1GiB": 1 << 30 / share} {
		t.Run(name, func(t *testing.T) {
			d := serve(t, "--stall-timeout=300ms", "--stall-drop=1h", fmt.Sprintf("--spill-bytes=%d", file))
			c := newCable(t, d.address())
			w := dialWire(t, c.url())
			ended := t.TempDir() + "/ended"
			w.start("p", fmt.Sprintf("echo up; read x; head -c %d /dev/zero; touch %s", total, ended), `,"pipeStdin":true`)
			var received counted
			for received.total == 0 {
				received.take(t, w.event())
			}
			c.set(fault{blocked: true})
			other := dialWire(t, d.url)
			w.send("process/write", `{"processId":"p","writeId":"1","chunk":"Cg=="}`)
			c.set(fault{blockedBack: true})
			began := time.Now()
			awaitFile(t, ended)
			other.call("environment/status", `{}`)
			t.Logf("the command ended after %v", time.Since(began))
			if rss := d.status(t, "VmHWM"); rss > 60<<10 {
				t.Errorf("the daemon took %d KiB", rss)
			}
			c.set(fault{})
			for !received.closed {
				received.take(t, w.event())
			}
			if received.total+received.missed != total+uint64(len("up\n")) {
				t.Errorf("%d bytes came and %d are said to be missing: of %d", received.total, received.missed, total)
			}
			if received.total < min(file, total) {
				t.Errorf("%d bytes came", received.total)
			}
			if file >= total && received.missed > 0 {
				t.Errorf("%d bytes are missing", received.missed)
			}
		})
	}
}

// awaitFile waits until a command has made a file.
func awaitFile(t *testing.T, path string) {
	t.Helper()
	eventually(t, 2*time.Minute, func() string {
		if _, err := os.Stat(path); err != nil {
			return "the command has not ended"
		}
		return ""
	})
}

// counted is the events of a process as far as they add up.
type counted struct {
	last, total, missed uint64
	closed              bool
}

// take counts an event. What a gap leaves out has to be said with the event that
// follows it.
func (c *counted) take(t *testing.T, m message) {
	t.Helper()
	switch extra := m.Params.Airlock; {
	case m.Params.Seq == c.last+1:
	case extra == nil || m.Params.Seq <= c.last:
		t.Fatalf("number %d follows %d, and no gap is told", m.Params.Seq, c.last)
	default:
		var dropped uint64
		for _, n := range extra.DroppedBytes {
			dropped += n
		}
		c.missed = dropped - c.total // all that came has lower numbers
	}
	c.last = m.Params.Seq
	c.total += uint64(len(m.Params.Chunk))
	c.closed = m.Method == "process/closed"
}

// TestStallDrop: a client that takes nothing at all is disconnected, and its
// session can be resumed.
func TestStallDrop(t *testing.T) {
	d := serve(t, "--stall-timeout=200ms", "--stall-drop=600ms")
	c := newCable(t, d.address())
	w := dialWire(t, c.url())
	c.set(fault{blockedBack: true})
	w.send("process/start", startParams("p", "seq 1 3000000; sleep 100", ""))
	again := dialWireLater(t, d.url, w.session)
	after, got := uint64(0), 0
	for all := len(numbers(3_000_000)); got < all; {
		m := again.call("process/read", fmt.Sprintf(`{"processId":"p","afterSeq":%d,"maxBytes":1000000,"waitMs":1000}`, after))
		for _, chunk := range m.Result.Chunks {
			if chunk.Seq != after+1 {
				t.Fatalf("number %d follows %d", chunk.Seq, after)
			}
			after = chunk.Seq
			got += len(chunk.Chunk)
		}
	}
}

// TestFullDisk: output that can't be kept is a gap, and nothing else.
func TestFullDisk(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("mounts a small disk, which takes root")
	}
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=3m"); err != nil {
		t.Skipf("no small disk can be mounted: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	filler := filepath.Join(dir, "filler")
	for name, fill := range map[string]int{"small": 0, "full": 3 << 20} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(filler, make([]byte, fill), 0o600); err != nil {
				t.Fatal(err)
			}
			d := serve(t, "--spill-dir="+dir)
			w := dialWire(t, d.url)
			const total = 20 << 20
			w.start("p", fmt.Sprintf("head -c %d /dev/zero", total), "")
			var live counted
			for !live.closed {
				live.take(t, w.event())
			}
			if live.total != total || live.missed != 0 {
				t.Errorf("a client that reads got %d bytes and misses %d", live.total, live.missed)
			}
			m := w.call("process/read", `{"processId":"p"}`)
			kept, dropped := uint64(0), uint64(0)
			for _, chunk := range m.Result.Chunks {
				kept += uint64(len(chunk.Chunk))
			}
			if m.Result.Airlock == nil {
				t.Fatalf("no gap is told; %d bytes are kept", kept)
			}
			for _, n := range m.Result.Airlock.DroppedBytes {
				dropped += n
			}
			if kept+dropped != total || kept < 700<<10 || name == "small" && kept < 2<<20 {
				t.Errorf("%d bytes are kept and %d dropped", kept, dropped)
			}
			w.start("q", "echo still alive", "")
			var next counted
			for !next.closed {
				next.take(t, w.event())
			}
			if fill > 0 && !strings.Contains(d.log.String(), "no space left on device") {
				t.Errorf("the log does not say why:\n%s", d.log.String())
			}
		})
	}
}

package fault

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/airlock-exec/airlock/client"
	"github.com/airlock-exec/airlock/protocol"
	"github.com/airlock-exec/airlock/server"
)

// TestVolumeManySessions: 1,000 sessions with 10 processes each live side by side, and
// nothing is left of them.
func TestVolumeManySessions(t *testing.T) {
	const sessions, each = 1000 / share, 10
	// One of them stays in each session; more would need more descriptors than
	// most systems give.
	const stays = 1
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if need := uint64(sessions * (stays*6 + 2)); limit.Max < need {
		t.Skipf("a program may have %d descriptors here, and this takes %d", limit.Max, need)
	}
	d := serve(t, "--session-ttl=1s", "--process-retention=1h")
	w := dialWire(t, d.url)
	w.start("p", "exec true", "")
	for w.event().Method != "process/closed" {
	}
	descriptors := d.descriptors(t)
	w.conn.Close(nil)

	m := mark()
	began := time.Now()
	wires := make([]*wire, sessions)
	var opening sync.WaitGroup
	places := make(chan struct{}, 16)
	for i := range wires {
		places <- struct{}{}
		opening.Go(func() {
			defer func() { <-places }()
			w := dialWire(t, d.url)
			for j := range each {
				script := "echo up"
				if j < stays {
					script = "exec sleep " + m
				}
				w.start(fmt.Sprint(j), script, "")
			}
			wires[i] = w
		})
	}
	opening.Wait()
	t.Logf("%d sessions and %d processes after %v: %d descriptors, %d KiB",
		sessions, sessions*each, time.Since(began), d.descriptors(t), d.status(t, "VmRSS"))
	made := tracesOf(t, d, m)
	if n := len(marked(t, m)); n != sessions*stays {
		t.Errorf("%d processes run", n)
	}
	for i, w := range wires {
		if i%2 == 0 {
			w.call("process/terminate", `{"processId":"0"}`)
		}
		w.conn.Close(nil)
	}
	eventually(t, 30*time.Second, func() string {
		if pids := marked(t, m); len(pids) > 0 {
			return fmt.Sprintf("%d processes live on", len(pids))
		}
		// Control groups are kept for reuse: some of them, each with a descriptor or two.
		if now := d.descriptors(t); now > descriptors+keptDescriptors {
			return fmt.Sprintf("%d descriptors, %d before", now, descriptors)
		}
		return ""
	})
	d.kill(syscall.SIGTERM)
	<-d.done
	made.gone(t)
}

// keptDescriptors is how many descriptors a daemon keeps for starts to come.
const keptDescriptors = 200

// TestVolumeManyResumes: a session that is cut and resumed 10,000 times has lost
// nothing, and nothing is left of its connections.
func TestVolumeManyResumes(t *testing.T) {
	const times = 10_000 / share
	s := server.New(server.Config{})
	defer s.Close()
	e, err := client.Connect(t.Context(), s, client.Options{ReconnectTimeout: -1})
	if err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf("i=0; while [ $i -lt %d ]; do i=$((i+1)); echo $i; done; exec sleep 1000", times)
	start(t, e, "p", script, false)
	session := e.SessionID()
	_ = e.Close()
	goroutines, descriptors := runtime.NumGoroutine(), ownDescriptors(t)
	var out bytes.Buffer
	after := uint64(0)
	for range times {
		e, err := client.Connect(t.Context(), s, client.Options{
			ResumeSessionID: session, Takeover: true, ReconnectTimeout: -1,
		})
		if err != nil {
			t.Fatal(err)
		}
		result, err := e.Process("p").Read(t.Context(), protocol.ReadParams{AfterSeq: &after, MaxBytes: new(uint64(1))})
		if err != nil {
			t.Fatal(err)
		}
		for _, chunk := range result.Chunks {
			if chunk.Seq != after+1 {
				t.Fatalf("number %d follows %d", chunk.Seq, after)
			}
			after = chunk.Seq
			out.Write(chunk.Chunk)
		}
		_ = e.Close()
	}
	if got := out.String(); !strings.HasPrefix(numbers(times), got) || got == "" {
		t.Errorf("%d bytes came, which are not the first of what was printed", len(got))
	}
	eventually(t, 10*time.Second, func() string {
		if now := runtime.NumGoroutine(); now > goroutines {
			return fmt.Sprintf("%d goroutines, %d before", now, goroutines)
		}
		if now := ownDescriptors(t); now > descriptors {
			return fmt.Sprintf("%d descriptors, %d before", now, descriptors)
		}
		return ""
	})
}

func ownDescriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

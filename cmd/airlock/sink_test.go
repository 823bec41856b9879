package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/airlock-exec/airlock/client"
	"github.com/airlock-exec/airlock/protocol"
)

// TestJSONSink: what is news only is told only then.
func TestJSONSink(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	stdout := os.Stdout
	os.Stdout = out
	defer func() { os.Stdout = stdout }()
	s := newSink(true, nil)
	for _, err := range []error{
		s.started("run", "id", nil),
		s.started("run", "id", &protocol.LimitMechanisms{CPUSeconds: protocol.LimitRlimit, MemoryBytes: protocol.LimitCgroup2}),
		s.event(client.Event{Kind: client.Exited, Seq: 1, ExitCode: 2}),
		s.event(client.Event{Kind: client.Exited, Seq: 1, ExitCode: 2, Reason: protocol.ReasonCPU}),
		s.event(client.Event{Kind: client.Closed, Seq: 2}),
		s.event(client.Event{Kind: client.Closed, Seq: 2, Reason: protocol.ReasonIdle}),
	} {
		if err != nil {
			t.Error(err)
		}
	}
	got, err := os.ReadFile(path)
	const want = `{"event":"start","processId":"run","sessionId":"id"}
{"event":"start","processId":"run","sessionId":"id","limits":{"memoryBytes":"cgroup2","cpuSeconds":"rlimit"}}
{"event":"exited","seq":1,"exitCode":2,"sandboxDenied":false}
{"event":"exited","seq":1,"exitCode":2,"sandboxDenied":false,"reason":"cpu"}
{"event":"closed","seq":2}
{"event":"closed","seq":2,"reason":"idle"}
`
	if err != nil || string(got) != want {
		t.Errorf("got %s (%v), want %s", got, err, want)
	}
}

package main

import (
	"os"
	"path/filepath"
	"strings"
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
	s := newSink(&runCommand{processFlags: processFlags{JSON: true}}, nil)
	for _, err := range []error{
		s.started(&startedInfo{processID: "run", sessionID: "id"}),
		s.started(&startedInfo{
			"run", "id", &protocol.LimitMechanisms{CPUSeconds: protocol.LimitRlimit, MemoryBytes: protocol.LimitCgroup2},
			protocol.TierNamespaces,
		}),
		s.event(client.Event{Kind: client.Exited, Seq: 1, ExitCode: 2}),
		s.event(client.Event{Kind: client.Exited, Seq: 1, ExitCode: 2, Reason: protocol.ReasonCPU}),
		s.event(client.Event{
			Kind: client.Exited, Seq: 1, ExitCode: 1, Denials: []protocol.Denial{{What: "connect", Path: "/s", Count: 2}},
			SetupError: &protocol.SetupError{Stage: "mounts", Message: "no"},
		}),
		s.event(client.Event{Kind: client.Closed, Seq: 2}),
		s.event(client.Event{Kind: client.Closed, Seq: 2, Reason: protocol.ReasonIdle}),
	} {
		if err != nil {
			t.Error(err)
		}
	}
	got, err := os.ReadFile(path)
	const want = `{"event":"start","processId":"run","sessionId":"id"}
{"event":"start","processId":"run","sessionId":"id","limits":{"memoryBytes":"cgroup2","cpuSeconds":"rlimit"},"sandboxTier":"namespaces"}
{"event":"exited","seq":1,"exitCode":2,"sandboxDenied":false}
{"event":"exited","seq":1,"exitCode":2,"sandboxDenied":false,"reason":"cpu"}
{"event":"exited","seq":1,"exitCode":1,"sandboxDenied":false,"denials":[{"what":"connect","path":"/s","count":2}],"setupError":{"stage":"mounts","message":"no"}}
{"event":"closed","seq":2}
{"event":"closed","seq":2,"reason":"idle"}
`
	if err != nil || string(got) != want {
		t.Errorf("got %s (%v), want %s", got, err, want)
	}
}

// TestVerboseSink: what the sandbox is made of, and what it has denied, with what the
// command may have chosen escaped.
func TestVerboseSink(t *testing.T) {
	t.Parallel()
	var told strings.Builder
	s := newSink(&runCommand{Sandbox: true, processFlags: processFlags{Verbose: true}}, &told)
	tiers := []protocol.SandboxTier{
		"", protocol.TierNone, protocol.TierSeccomp, protocol.TierNamespaces, protocol.TierLandlock, "magic",
	}
	for _, tier := range tiers {
		if err := s.started(&startedInfo{tier: tier}); err != nil {
			t.Error(err)
		}
	}
	for _, e := range []client.Event{
		{Kind: client.Exited, SandboxDenied: true, Denials: []protocol.Denial{
			{What: "connect", Path: "/run/a\x1b", Count: 1}, {What: "socket", Address: "AF_INET", Count: 3},
		}},
		{Kind: client.Exited, SandboxDenied: true},
		{Kind: client.Exited, SandboxDenied: true, SetupError: &protocol.SetupError{}},
		{Kind: client.Exited},
	} {
		if err := s.event(e); err != nil {
			t.Error(err)
		}
	}
	const want = `airlock: the executor does not tell what the sandbox is made of
airlock: the policy restricts nothing: there is no sandbox
airlock: the policy restricts no files: the sandbox is a filter of system calls
airlock: the sandbox is made of namespaces
airlock: the sandbox is made of Landlock and a filter of system calls, without namespaces
airlock: the sandbox is made of magic
airlock: the sandbox denied connect of /run/a\x1b
airlock: the sandbox denied socket (AF_INET), 3 times
airlock: by what the command says, the sandbox denied it something
`
	if told.String() != want {
		t.Errorf("got %s, want %s", told.String(), want)
	}
	// Nobody is told who has not asked.
	for _, quiet := range []*runCommand{{Sandbox: true}, {processFlags: processFlags{Verbose: true}}} {
		if _, verbose := newSink(quiet, nil).(verboseSink); verbose {
			t.Errorf("%+v is verbose", quiet)
		}
	}
}

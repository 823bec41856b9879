package client

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/airlock-exec/airlock/protocol"
)

// TestSandboxIsRead: what is told of a sandbox with the exit is there, too, when
// that is read because the notification was lost.
func TestSandboxIsRead(t *testing.T) {
	t.Parallel()
	denials := []protocol.Denial{{What: "connect", Path: "/s", Count: 1}}
	failure := &protocol.SetupError{Stage: "mounts", Message: "no"}
	s := newSequence(0)
	s.read(&protocol.ReadResult{
		NextSeq: 3, Exited: true, ExitCode: new(int32(1)), Closed: true, SandboxDenied: true,
		Airlock: &protocol.ReadExtra{Denials: denials, SetupError: failure},
	}, true)
	i, ok := s.next()
	if !ok || i.Kind != Exited || !i.SandboxDenied {
		t.Fatalf("got %+v", i)
	}
	if diff := cmp.Diff(denials, i.Denials); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(failure, i.SetupError); diff != "" {
		t.Error(diff)
	}
}

// TestAskAboutSandbox: only who has a sandbox asks to be told of it, and only an
// executor that tells.
func TestAskAboutSandbox(t *testing.T) {
	t.Parallel()
	asking := &protocol.StartExtra{}
	limited := &protocol.StartExtra{Limits: &protocol.ProcessLimits{}}
	for _, test := range []struct {
		name     string
		features []string
		sandbox  *protocol.SandboxContext
		given    *protocol.StartExtra
		want     *protocol.StartExtra
	}{
		{"no sandbox", protocol.Features(), nil, nil, nil},
		{"a sandbox", protocol.Features(), protocol.FullAccessSandbox(), nil, asking},
		{"one that tells of denials only", []string{protocol.FeatureSandboxDenials}, protocol.FullAccessSandbox(), nil, asking},
		{"one that tells nothing", []string{protocol.FeatureSandboxSetupError}, protocol.FullAccessSandbox(), nil, nil},
		{"something is asked already", protocol.Features(), protocol.FullAccessSandbox(), limited, limited},
	} {
		e := &executor{info: &protocol.EnvironmentInfo{Airlock: &protocol.AirlockInfo{Features: test.features}}}
		params := &protocol.StartParams{Sandbox: test.sandbox, Airlock: test.given}
		if diff := cmp.Diff(test.want, e.askAboutSandbox(params).Airlock); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
		if params.Airlock != test.given {
			t.Errorf("%s: the parameters of the caller have been changed", test.name)
		}
	}
	foreign := &executor{info: &protocol.EnvironmentInfo{}}
	params := &protocol.StartParams{Sandbox: protocol.FullAccessSandbox()}
	if foreign.askAboutSandbox(params) != params {
		t.Error("an executor that is no Airlock is asked")
	}
}

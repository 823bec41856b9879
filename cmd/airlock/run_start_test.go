package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/airlock-exec/airlock/client"
	"github.com/airlock-exec/airlock/internal/transport"
	"github.com/airlock-exec/airlock/protocol"
)

// infoOf describes an executor that has some features.
func infoOf(features ...string) *protocol.EnvironmentInfo {
	return &protocol.EnvironmentInfo{Airlock: &protocol.AirlockInfo{Features: features}}
}

func TestRunExtra(t *testing.T) {
	t.Parallel()
	size := &protocol.TerminalSize{Rows: 50, Cols: 132}
	plain, all := &protocol.EnvironmentInfo{}, infoOf(protocol.Features()...)
	for _, test := range []struct {
		name  string
		args  string
		info  *protocol.EnvironmentInfo
		size  *protocol.TerminalSize
		want  *protocol.StartExtra
		error string
	}{
		{"nothing", "", all, size, nil, ""},
		{"a terminal", "-t", all, size, &protocol.StartExtra{TerminalSize: size}, ""},
		{"a terminal without a size", "-t", all, nil, nil, ""},
		{"a terminal of an executor without sizes", "-t", plain, size, nil, ""},
		{
			"times", "--timeout 2m --idle-timeout 1us", infoOf(protocol.FeatureTimeouts), nil,
			&protocol.StartExtra{TimeoutMs: new(uint64(120_000)), IdleTimeoutMs: new(uint64(1))}, "",
		},
		{
			"limits", "--limit-memory 2GiB --limit-cpu 60 --limit-processes 7 --limit-open-files 8 --limit-file-size 9",
			infoOf(protocol.FeatureLimits), nil,
			&protocol.StartExtra{Limits: &protocol.ProcessLimits{
				MemoryBytes: new(uint64(2 << 30)), CPUSeconds: new(uint64(60)), Processes: new(uint64(7)),
				OpenFiles: new(uint64(8)), FileBytes: new(uint64(9)),
			}}, "",
		},
		{"the longest time", "--timeout 8784h", all, nil, &protocol.StartExtra{TimeoutMs: new(uint64(31_622_400_000))}, ""},
		{"too long a time", "--idle-timeout 8785h", all, nil, nil, "--idle-timeout: at most 8784h is allowed"},
		{"too many files", "--limit-open-files 2147483648", all, nil, nil, "--limit-open-files: at most 2147483647 is allowed"},
		{"no timeouts", "--idle-timeout 1s", infoOf(protocol.FeatureLimits), nil, nil, "--idle-timeout: this executor can't do that"},
		{"no limits", "--limit-cpu 1", plain, nil, nil, "--limit-cpu: this executor can't do that"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			cli, _, err := parse(t, append(append([]string{"run"}, strings.Fields(test.args)...), "true")...)
			if err != nil {
				t.Fatal(err)
			}
			got, err := cli.Run.extra(test.info, test.size)
			if err == nil && test.error != "" || err != nil && (test.error == "" || !strings.HasPrefix(err.Error(), test.error)) {
				t.Errorf("error %v, want %q", err, test.error)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("it asks for something else (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRunEnvironment(t *testing.T) {
	t.Setenv("TERM", "vt52")
	t.Setenv("MINE", "mine")
	t.Setenv("EMPTY", "")
	t.Setenv("BINARY", "secret\xff")
	for _, test := range []struct {
		tty   bool
		env   []string
		want  map[string]string
		error string
	}{
		{false, nil, map[string]string{}, ""},
		{true, nil, map[string]string{"TERM": "vt52"}, ""},
		{true, []string{"TERM=vt100"}, map[string]string{"TERM": "vt100"}, ""},
		{true, []string{"TERM"}, map[string]string{"TERM": "vt52"}, ""},
		{false, []string{"MINE", "EMPTY", "A=b=c", "B="}, map[string]string{"MINE": "mine", "EMPTY": "", "A": "b=c", "B": ""}, ""},
		{false, []string{"MINE=a", "MINE"}, map[string]string{"MINE": "mine"}, ""},
		{false, []string{"NOT_SET"}, nil, "--env NOT_SET: the variable is not set here"},
		{false, []string{"BINARY"}, nil, "--env BINARY: its value here is not UTF-8"},
		{false, []string{""}, nil, `--env "": expected NAME=VALUE`},
		{false, []string{"=x"}, nil, `--env "=x": expected NAME=VALUE`},
		{false, []string{"A=\xff"}, nil, `--env "A=\xff": expected NAME=VALUE`},
	} {
		got, err := (&runCommand{processFlags: processFlags{TTY: test.tty, Env: test.env}}).environment()
		switch {
		case err != nil && (test.error == "" || !strings.HasPrefix(err.Error(), test.error)), err == nil && test.error != "":
			t.Errorf("%q: error %v, want %q", test.env, err, test.error)
		case err != nil && strings.Contains(err.Error(), "secret"):
			t.Errorf("%q: the value is told: %v", test.env, err)
		case cmp.Diff(test.want, got) != "":
			t.Errorf("%q: got %v, want %v", test.env, got, test.want)
		}
	}
}

func TestEnding(t *testing.T) {
	t.Parallel()
	command := &runCommand{processFlags: processFlags{
		Timeout: duration(90 * time.Second), IdleTimeout: duration(time.Minute),
		LimitMemory: 1 << 20, LimitCPU: 5, LimitFileSize: 10,
	}}
	for _, test := range []struct {
		name   string
		events []client.Event
		status int
		text   string
	}{
		{"success", []client.Event{{Kind: client.Exited}, {Kind: client.Closed}}, 0, ""},
		{"failure", []client.Event{{Kind: client.Exited, ExitCode: 3}}, 3, ""},
		{"nobody knows", []client.Event{{Kind: client.Exited, ExitCode: -1}}, 125, "the executor does not know how the command ended"},
		{"no exit", nil, 125, "the executor does not know how the command ended"},
		{
			"success with a gap",
			[]client.Event{{Kind: client.Gap}, {Kind: client.Exited}},
			125,
			"the command succeeded, but some of its output is missing",
		},
		{
			"no sandbox",
			[]client.Event{{Kind: client.Exited, ExitCode: 1, SetupError: &protocol.SetupError{Stage: "mounts", Message: "setting up the sandbox (mounts): /a\x1b is gone"}}},
			125, `the command was not run: setting up the sandbox (mounts): /a\x1b is gone`,
		},
		{"failure with a gap", []client.Event{{Kind: client.Gap}, {Kind: client.Exited, ExitCode: 4}}, 4, ""},
		{
			"deadline",
			[]client.Event{{Kind: client.Gap}, {Kind: client.Exited, ExitCode: 137, Reason: protocol.ReasonDeadline}},
			124,
			"the command was killed: it had not ended after 1m30s (--timeout)",
		},
		{
			"deadline, nobody knows",
			[]client.Event{{Kind: client.Exited, ExitCode: -1, Reason: protocol.ReasonDeadline}},
			124,
			"the command was killed: it had not ended after 1m30s (--timeout)",
		},
		{
			"silence",
			[]client.Event{{Kind: client.Exited, ExitCode: 137, Reason: protocol.ReasonIdle}},
			124,
			"the command was killed: it had neither output nor input for 1m (--idle-timeout)",
		},
		{
			"deadline of what was left",
			[]client.Event{{Kind: client.Exited, ExitCode: 0}, {Kind: client.Closed, Reason: protocol.ReasonDeadline}},
			0,
			"what the command left behind was killed: it had not ended after 1m30s (--timeout)",
		},
		{
			"memory",
			[]client.Event{{Kind: client.Exited, ExitCode: 137, Reason: protocol.ReasonMemory}},
			137,
			"a process of the command was killed: together they went beyond 1MiB of memory (--limit-memory)",
		},
		{
			"processor",
			[]client.Event{{Kind: client.Exited, ExitCode: 152, Reason: protocol.ReasonCPU}},
			152,
			"the command was killed: it went beyond 5 seconds of processor time (--limit-cpu)",
		},
		{
			"file",
			[]client.Event{{Kind: client.Exited, ExitCode: 153, Reason: protocol.ReasonFileSize}},
			153,
			"the command was ended: it wrote a file of more than 10 (--limit-file-size)",
		},
		{
			"another client",
			[]client.Event{{Kind: client.Exited, ExitCode: 143, Reason: protocol.ReasonTerminated}},
			143,
			"the command was terminated by another client",
		},
		{
			"operator",
			[]client.Event{{Kind: client.Exited, ExitCode: -1, Reason: protocol.ReasonOperator}},
			125,
			"the command was ended by whoever runs the executor",
		},
		{
			"a reason of the future",
			[]client.Event{{Kind: client.Exited, ExitCode: 1, Reason: "boredom"}},
			1,
			"the command was ended by the executor: boredom",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var e ending
			for _, event := range test.events {
				e.note(&event)
			}
			status, err := e.status(command)
			text := ""
			if err != nil {
				text = err.Error()
			}
			if status != test.status || text != test.text {
				t.Errorf("status %d, %q, want %d, %q", status, text, test.status, test.text)
			}
		})
	}
}

func TestLost(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("%w: %w: unknown session id 1234", client.ErrSessionLost, transport.ErrTakenOver), "another client has taken the command over"},
		{fmt.Errorf("%w: %w", client.ErrSessionLost, transport.ErrEnded), "whoever runs the executor has ended the session"},
		{fmt.Errorf("%w: unknown session id 1234", client.ErrSessionLost), "the command is gone: the executor has been restarted"},
		{client.ErrDisconnected, "the command is lost"},
		{errors.New("else"), "following the command: else"},
	} {
		got := lost(test.err).Error()
		if !strings.HasPrefix(got, test.want) || strings.Contains(got, "1234") {
			t.Errorf("%v: %q, want %q", test.err, got, test.want)
		}
	}
}

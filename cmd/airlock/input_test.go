package main

import (
	"bytes"
	"context"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/airlock-exec/airlock/client"
	"github.com/airlock-exec/airlock/internal/transport"
	"github.com/airlock-exec/airlock/protocol"
	"github.com/airlock-exec/airlock/server"
)

// plainExecutor passes for an executor that speaks the dialect and no more.
type plainExecutor struct{ *server.Server }

func (e plainExecutor) Connect(ctx context.Context) (transport.Conn, error) {
	conn, err := e.Server.Connect(ctx)
	return plainConn{conn}, err
}

type plainConn struct{ transport.Conn }

func (c plainConn) Read() ([]byte, error) {
	message, err := c.Conn.Read()
	return bytes.Replace(message, []byte(`"airlock":{`), []byte(`"unknown":{`), 1), err
}

// TestForwardInputWithoutEnd asserts that the user learns why a command goes on
// waiting whose standard input can't be closed.
func TestForwardInputWithoutEnd(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the command here is one of Unix")
	}
	embedded := server.New(server.Config{})
	defer embedded.Close()
	executor, err := client.Connect(t.Context(), plainExecutor{embedded}, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer executor.Close()
	params, err := (&runCommand{Command: []string{"cat"}}).start(executor.Info(), nil)
	if err != nil {
		t.Fatal(err)
	}
	params.PipeStdin = true // whatever ours is
	process, err := executor.Start(t.Context(), params)
	if err != nil {
		t.Fatal(err)
	}
	var stderr strings.Builder
	forwardInput(t.Context(), process, strings.NewReader("x"), false, &stderr)
	if want := "airlock: warning: this executor can't close"; !strings.HasPrefix(stderr.String(), want) {
		t.Errorf("standard error has %q, want %q", stderr.String(), want)
	}
	event, err := process.Next(t.Context())
	if err != nil || string(event.Data) != "x" {
		t.Errorf("the command has got %q (%v), want x", event.Data, err)
	}
}

func TestIsNull(t *testing.T) {
	t.Parallel()
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	file, err := os.Create(t.TempDir() + "/file")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if !isNull(null) || isNull(file) {
		t.Errorf("isNull says %t of the null device and %t of a file", isNull(null), isNull(file))
	}
}

func TestStartFailure(t *testing.T) {
	t.Parallel()
	dir, err := protocol.ParsePathURI("file:///")
	if err != nil {
		t.Fatal(err)
	}
	params := &protocol.StartParams{Argv: []string{"name"}, CWD: dir}
	for kind, want := range map[protocol.ErrorKind]int{
		protocol.KindSpawnNotFound:         exitNotFound,
		protocol.KindSpawnPermissionDenied: exitCannotExecute,
		protocol.KindSpawnFailed:           exitCannotExecute,
		protocol.KindSandboxUnavailable:    exitRunFailed,
	} {
		status, err := new(runCommand).startFailure(params, protocol.WithKind(protocol.CodeInternal, kind, "no luck"))
		if status != want || !strings.HasPrefix(err.Error(), `cannot start "name" in /: no luck`) {
			t.Errorf("%s gives status %d and %q, want %d", kind, status, err, want)
		}
	}
	if status, _ := new(runCommand).startFailure(params, context.Canceled); status != exitRunFailed {
		t.Errorf("an error of ours gives status %d, want %d", status, exitRunFailed)
	}
}

// TestStartFailureHints: what the executor's text does not tell the user, who has
// typed flags.
func TestStartFailureHints(t *testing.T) {
	t.Parallel()
	dir, err := protocol.ParsePathURI("file:///nowhere")
	if err != nil {
		t.Fatal(err)
	}
	n := new(uint64(1))
	for _, test := range []struct {
		command runCommand
		kind    protocol.ErrorKind
		text    string
		limits  *protocol.ProcessLimits
		want    string
	}{
		{runCommand{}, protocol.KindSpawnNotFound, "not there", nil, "not there"},
		{runCommand{processFlags: processFlags{CWD: "/nowhere"}}, protocol.KindSpawnNotFound, "not there", nil, "not there"},
		{runCommand{executorFlags: executorFlags{URL: "ws://x"}}, protocol.KindSpawnNotFound, "not there", nil, "not there"},
		{
			runCommand{executorFlags: executorFlags{URL: "ws://x"}, processFlags: processFlags{CWD: "/nowhere"}},
			protocol.KindSpawnNotFound, "not there", nil,
			"not there; the program is not there, or the working directory (--cwd) is not: the executor does not tell which",
		},
		{
			runCommand{},
			protocol.KindLimitUnavailable, "a limit on memory can't be enforced: so", &protocol.ProcessLimits{MemoryBytes: n, Processes: n},
			"a limit on memory can't be enforced: so (asked for by --limit-memory; `airlock doctor` here tells what can be had)",
		},
		{
			runCommand{executorFlags: executorFlags{URL: "ws://x"}},
			protocol.KindLimitUnavailable, "limits can't be enforced", &protocol.ProcessLimits{CPUSeconds: n, FileBytes: n},
			"limits can't be enforced (asked for by --limit-cpu, --limit-file-size; `airlock doctor` on the executor's host tells what can be had)",
		},
		{
			runCommand{},
			protocol.KindLimitUnavailable, "a limit of 9 open files can't be enforced: so", &protocol.ProcessLimits{OpenFiles: n, CPUSeconds: n},
			"a limit of 9 open files can't be enforced: so (asked for by --limit-open-files; `airlock doctor` here tells what can be had)",
		},
		{runCommand{}, protocol.KindSandboxUnavailable, "no", nil, "no (`airlock doctor` tells what this host lacks)"},
		{
			runCommand{executorFlags: executorFlags{URL: "ws://x"}},
			protocol.KindSandboxUnavailable, "no", nil,
			"no (`airlock doctor` on the executor's host tells what it lacks, if that is Airlock)",
		},
	} {
		params := &protocol.StartParams{Argv: []string{"name"}, CWD: dir, Airlock: &protocol.StartExtra{Limits: test.limits}}
		_, err := test.command.startFailure(params, protocol.WithKind(protocol.CodeInternal, test.kind, test.text))
		if want := `cannot start "name" in /nowhere: ` + test.want; err.Error() != want {
			t.Errorf("got %s\nwant %s", err, want)
		}
	}
}

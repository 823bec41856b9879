package agent

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"go.uber.org/goleak"
)

var (
	// agentProgram is the Codex agent, or empty.
	agentProgram = os.Getenv("CODEX_BIN")
	// executorProgram is what the agent is pointed at.
	executorProgram = os.Getenv("AIRLOCK_AGENT_EXECUTOR")
	// runtimeDir is where executors put their sockets. Its path is short, as that
	// of a socket has to be.
	runtimeDir string
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == mcpArgument {
		serveMCP(os.Stdin, os.Stdout)
		return
	}
	os.Exit(testAll(m))
}

func testAll(m *testing.M) (code int) {
	dir, err := os.MkdirTemp("", "airlock-agent-")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	runtimeDir = filepath.Join(dir, "run")
	if err := os.Mkdir(runtimeDir, 0o700); err != nil {
		panic(err)
	}
	if agentProgram != "" && executorProgram == "" {
		executorProgram = filepath.Join(dir, "airlock")
		if err := build(executorProgram); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	code = m.Run()
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func build(program string) error {
	cmd := exec.CommandContext(context.Background(), "go", "build", "-o", program, "github.com/airlock-exec/airlock/cmd/airlock")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building airlock: %w\n%s", err, out)
	}
	return nil
}

// requireAgent skips a test where there is no agent, or fails it where there has
// to be one.
func requireAgent(t *testing.T) {
	t.Helper()
	switch {
	case agentProgram == "" && os.Getenv("AIRLOCK_REQUIRE_CODEX") != "":
		t.Fatal("AIRLOCK_REQUIRE_CODEX is set, but CODEX_BIN does not name the program of the Codex agent")
	case agentProgram == "":
		t.Skip("CODEX_BIN does not name the program of the Codex agent (`make codex` installs it, with npm)")
	case runtime.GOOS == "windows":
		t.Skip("the commands of these tests are written for a Unix shell")
	}
}

// patience is how long anything may take: the machine may have much to do.
const patience = time.Minute

// eventually waits until check returns "", looking every now and then, and fails
// with what it says if that takes too long.
func eventually(t *testing.T, check func() string) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for wrong := check(); wrong != ""; wrong = check() {
		if time.Now().After(deadline) {
			t.Fatalf("after %v: %s", patience, wrong)
		}
		<-time.After(20 * time.Millisecond)
	}
}

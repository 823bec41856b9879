package conformance_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/airlock-exec/airlock/server"
	"github.com/airlock-exec/airlock/test/conformance"
)

// suite loads the cases that come with the package.
func suite(t *testing.T) *conformance.Suite {
	t.Helper()
	s, err := conformance.Load()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// serve runs an executor in this program and returns its URL.
func serve(t *testing.T, config server.Config, auth server.AuthConfig) string {
	t.Helper()
	s := server.New(config)
	t.Cleanup(s.Close)
	listener, err := s.Listen(server.ListenConfig{URL: "ws://127.0.0.1:0", Auth: auth})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- listener.Serve() }()
	t.Cleanup(func() {
		listener.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return listener.URL()
}

// pass runs cases and wants them to pass.
func pass(t *testing.T, options conformance.Options) conformance.Report {
	t.Helper()
	options.Done = func(result conformance.Result) {
		if result.Status == conformance.Failed {
			var text strings.Builder
			_ = result.WriteText(&text)
			t.Errorf("%s", text.String())
		}
		if result.Elapsed > 10*time.Second {
			t.Logf("%s took %v", result.Case, result.Elapsed)
		}
	}
	report, err := suite(t).Run(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	var sum strings.Builder
	_ = report.WriteText(&sum)
	t.Log(strings.TrimSpace(sum.String()))
	if !report.OK() {
		t.Error("not everything has passed")
	}
	return report
}

// stepLimit is generous: with the race detector, 64 MiB take their time.
const stepLimit = time.Minute

// TestAirlock: we keep to the protocol.
func TestAirlock(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	own := filepath.Join(t.TempDir(), "run") // where the executor keeps what outlives it
	if err := os.Mkdir(own, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_RUNTIME_DIR", own)
	report := pass(t, conformance.Options{URL: serve(t, server.Config{}, server.AuthConfig{}), StepLimit: stepLimit})
	if report.Peer || report.Differences != 0 {
		t.Errorf("it was taken for the peer: %+v", report)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("folders of cases are left: %v, error %v", left, err)
	}
	if report.Passed < 2000 {
		t.Errorf("%d checks are too few to say so", report.Passed)
	}
}

// TestAirlockForgets: sessions and processes are kept for as long as they should
// be. The times are short here, so that the test is.
func TestAirlockForgets(t *testing.T) {
	t.Parallel()
	const ttl = 3 * time.Second
	url := serve(t, server.Config{SessionTTL: ttl, ProcessRetention: ttl}, server.AuthConfig{})
	report := pass(t, conformance.Options{URL: url, Slow: true, TTL: ttl, Only: "expires|forgotten", StepLimit: stepLimit})
	if report.PassedCases < 3 {
		t.Errorf("only %d cases have passed", report.PassedCases)
	}
}

// TestAirlockWithToken: the cases of authentication, and one of each kind of
// connection, with a server that wants a token.
func TestAirlockWithToken(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("the-secret-of-this-test\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	url := serve(t, server.Config{}, server.AuthConfig{Mode: server.CapabilityToken, TokenFile: file})
	report := pass(t, conformance.Options{URL: url, Token: "the-secret-of-this-test", Only: "http/|105-", StepLimit: stepLimit})
	if report.SkippedCases != 0 {
		t.Errorf("%d cases were skipped", report.SkippedCases)
	}
	_, err := suite(t).Run(t.Context(), conformance.Options{URL: url, Token: "another"})
	if err == nil || !strings.Contains(err.Error(), "401 Unauthorized: invalid websocket bearer token") || strings.Contains(err.Error(), "another") {
		t.Errorf("with a wrong token: %v", err)
	}
}

// TestPeer: where the Codex exec-server and we agree by intent, we agree.
func TestPeer(t *testing.T) {
	report := pass(t, conformance.Options{URL: peer(t), StepLimit: stepLimit})
	if !report.Peer || report.Differences == 0 {
		t.Errorf("it was not taken for the peer: %+v", report)
	}
	if report.Passed < 2000 {
		t.Errorf("%d checks are too few to say so", report.Passed)
	}
}

// peer runs the exec-server of Codex and returns its URL.
func peer(t *testing.T) string {
	t.Helper()
	program := os.Getenv("CODEX_BIN")
	if program == "" {
		if os.Getenv("AIRLOCK_REQUIRE_CODEX") != "" {
			t.Fatal("AIRLOCK_REQUIRE_CODEX is set, but CODEX_BIN does not name the program")
		}
		t.Skip("CODEX_BIN does not name the program of Codex, whose exec-server is to be tested")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	home, err = os.MkdirTemp(home, ".codex-test-") //nolint:usetesting // it refuses a home below the system's temporary folder
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	command := exec.Command(program, "exec-server", "--listen", "ws://127.0.0.1:0")
	command.Env = append(os.Environ(), "CODEX_HOME="+home)
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Signal(os.Interrupt)
		_ = command.Wait()
	})
	url, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(url)
}

// TestDifferencesAreDocumented: whatever the peer is excused from stands in
// docs/compatibility.md, with its id.
func TestDifferencesAreDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/compatibility.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for _, m := range regexp.MustCompile("`([a-z0-9-]+)`").FindAllStringSubmatch(string(text), -1) {
		documented[m[1]] = true
	}
	for _, c := range suite(t).Cases {
		for _, d := range c.Differences {
			if !documented[d.ID] {
				t.Errorf("%s: the difference %s (the peer: %s) does not stand in docs/compatibility.md, as `%s`", c.Name, d.ID, d.Peer, d.ID)
				documented[d.ID] = true // once is enough
			}
		}
	}
}

// sections are those of the chapters that the suite stands on and that can
// be seen from the outside of any server.
var sections = []string{
	"01 §2.1", "01 §4", "01 §2.2", "01 §3", "01 §4.1", "01 §4.2", "01 §4.3", "01 §4.4", "01 §4.5", "01 §5", "01 §6.1", "01 §6.2",
	"01 §7.1", "01 §7.2", "01 §7.3", "01 §8", "01 §9", "01 §10",
	"02 §1", "02 §2.1", "02 §2.2", "02 §3", "02 §4", "02 §5", "02 §6", "02 §7", "02 §8", "02 §9", "02 §10", "02 §11",
	"03 §1", "03 §1.1", "03 §2", "03 §3.1", "03 §3.2", "03 §3.3", "03 §3.4", "03 §4.1", "03 §4.2", "03 §5",
	"03 §6.1", "03 §6.2", "03 §6.3", "03 §6.4", "03 §6.5", "03 §6.6", "03 §7", "03 §8.1", "03 §8.2", "03 §9.1", "03 §9.3", "03 §9.4", "03 §9.5", "03 §11",
	"03 §12.1", "03 §12.2",
	"04 §1", "04 §1.1", "04 §1.2", "04 §2", "04 §3", "04 §4", "04 §4.2", "04 §5", "04 §6", "04 §7", "04 §9",
	"05 §1.2", "05 §1.3", "05 §1.4", "05 §2", "05 §3", "05 §4.1", "05 §4.2", "05 §4.3", "05 §4.4", "05 §4.5", "05 §5", "05 §6", "05 §8",
	"05 §11", "05 §13", "05 §16", "05 §17", "05 §18", "05 §20",
}

// TestEverySectionHasCases: nobody takes the last case of a section away
// unnoticed.
func TestEverySectionHasCases(t *testing.T) {
	t.Parallel()
	checks := 0
	found := map[string]bool{}
	for _, c := range suite(t).Cases {
		checks += c.Checks
		found[strings.Join(strings.Fields(c.Spec)[:2], " ")] = true
	}
	for _, section := range sections {
		if !found[section] {
			t.Errorf("no case stands on %s", section)
		}
	}
	for section := range found {
		if !slices.Contains(sections, section) && !strings.Contains(section, "appendix") {
			t.Errorf("%s is not on the list of sections", section)
		}
	}
	if checks < 2000 {
		t.Errorf("%d checks", checks)
	}
}

package fault

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/airlock-exec/airlock/client"
	"github.com/airlock-exec/airlock/protocol"
)

// TestVolumeDenials has a command try what it must not, without end and as fast as it
// can. Each try is counted, and the helper that answers all of them does not grow.
func TestVolumeDenials(t *testing.T) {
	if _, err := exec.LookPath("perl"); err != nil {
		t.Skip("there is no perl")
	}
	const tries, most = 400_000 / share, 40 << 10 // KiB
	d := serve(t)
	e, err := client.Dial(t.Context(), d.url, client.Options{Name: t.Name()})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	dir, err := protocol.PathURIFromNative(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf(`use Socket; socket(S, AF_UNIX, SOCK_STREAM, 0);
		connect(S, pack_sockaddr_un("/" . "x" x 90 . $_)) for 1..%d;
		open(F, "/proc/1/status"); /VmHWM:\s+(\d+)/ and print $1 while <F>; exit 3`, tries)
	p, err := e.Start(t.Context(), &protocol.StartParams{
		ProcessID: "p", Argv: []string{"perl", "-e", script}, CWD: dir, Env: map[string]string{"PATH": "/usr/bin:/bin"},
		Sandbox: protocol.ReadOnlySandbox(protocol.NetworkRestricted),
	})
	if err != nil {
		t.Fatal(err)
	}
	var output strings.Builder
	var told uint64
	for event, err := range p.Events(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		output.Write(event.Data)
		for _, denial := range event.Denials {
			told += denial.Count
		}
	}
	if told != tries {
		t.Errorf("%d denials are told of %d", told, tries)
	}
	if p.SandboxTier() != protocol.TierNamespaces {
		return // process 1 is another one
	}
	if peak, err := strconv.Atoi(output.String()); err != nil || peak > most {
		t.Errorf("the helper took %q KiB, want at most %d", output.String(), most)
	}
}

//go:build unix

package spawn

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// Everybody does everything to processes that come to their end.
func TestStress(t *testing.T) {
	t.Parallel()
	s := newSpawner(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), make([]byte, 100000), 0o600); err != nil {
		t.Fatal(err)
	}
	scripts := []string{"exit 3", "cat file", "cat", "sleep 1000", "(sleep 1000) & echo x", "kill $$"}
	var all sync.WaitGroup
	for i := range 120 {
		all.Go(func() {
			cmd := shell(scripts[i%len(scripts)])
			cmd.Dir = dir
			cmd.Stdin = true
			if i%2 == 0 {
				onTerminal(cmd)
			}
			p, r := start(t, s, cmd)
			var users sync.WaitGroup
			users.Go(func() {
				for p.Write(make([]byte, 10000)) == nil {
				}
			})
			users.Go(func() {
				for range 5 {
					_, _ = p.Signal(INT)
				}
				p.Kill()
				_, _ = p.Signal(INT)
				p.Kill()
			})
			users.Go(p.CloseStdin)
			<-r.closed
			users.Wait()
			p.Kill()
			if _, err := p.Signal(INT); err != nil {
				t.Errorf("Interrupt after Closed: %v", err)
			}
		})
	}
	all.Wait()
}

func TestClose(t *testing.T) {
	t.Parallel()
	s := open()
	var records []*record
	for range 5 {
		_, r := start(t, s, shell("sleep 1000"))
		records = append(records, r)
	}
	s.Close()
	for _, r := range records {
		if got := r.history(); got != "exited closed" || r.code != 137 {
			t.Errorf("events %q, exit code %d; want %q, 137", got, r.code, "exited closed")
		}
	}
	_, err := startFor(s, shell("true"), newRecord())
	if e, ok := err.(*Error); !ok || e.Kind != Failed {
		t.Errorf("Start after Close: %v, want an error of kind Failed", err)
	}
	s.Close()
}

// Close and Start at the same time.
func TestCloseWhileStarting(t *testing.T) {
	t.Parallel()
	for range 20 {
		s := open()
		var starts sync.WaitGroup
		for range 4 {
			starts.Go(func() {
				r := newRecord()
				if _, err := startFor(s, shell("sleep 1000"), r); err == nil {
					<-r.closed
				}
			})
		}
		s.Close()
		starts.Wait()
	}
}

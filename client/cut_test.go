package client_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/airlock-exec/airlock/client"
	"github.com/airlock-exec/airlock/protocol"
)

// numbers is what seq prints.
func numbers(last int) string {
	var want strings.Builder
	for n := range last {
		fmt.Fprintln(&want, n+1)
	}
	return want.String()
}

// TestOutputOverCuts: whatever a connection has carried when it is cut, the
// output comes whole, and once.
func TestOutputOverCuts(t *testing.T) {
	flaky(t, 50, 60_000, func(t *testing.T, e client.Executor, c *cuts) {
		p := start(t, e, "p", "seq 1 200000; exit 4")
		streams, code := collect(t, p)
		if streams[protocol.StreamStdout] != numbers(200_000) || code != 4 {
			t.Errorf("%d bytes, exit code %d", len(streams[protocol.StreamStdout]), code)
		}
		for c.left.Load() >= 0 && !t.Failed() {
			result, err := p.Read(t.Context(), protocol.ReadParams{})
			if err != nil || !result.Closed {
				t.Errorf("%+v, error %v", result, err)
			}
		}
	})
}

// TestInputOverCuts: what is written arrives once, and in order.
func TestInputOverCuts(t *testing.T) {
	flaky(t, 20, 30_000, func(t *testing.T, e client.Executor, _ *cuts) {
		want := numbers(200_000)
		p := start(t, e, "p", "cat")
		stdout := p.Stdout()
		written := make(chan error, 1)
		go func() {
			in := p.Stdin(t.Context())
			_, err := io.WriteString(in, want)
			written <- errors.Join(err, in.Close())
		}()
		got, err := io.ReadAll(stdout)
		if err := errors.Join(err, <-written); err != nil {
			t.Error(err)
		}
		if string(got) != want {
			t.Errorf("%d bytes", len(got))
		}
		if code, err := p.Wait(t.Context()); code != 0 || err != nil {
			t.Errorf("exit code %d, error %v", code, err)
		}
	})
}

// TestProcessesOverCuts: many short processes, each of which is started once.
func TestProcessesOverCuts(t *testing.T) {
	flaky(t, 30, 3_000, func(t *testing.T, e client.Executor, _ *cuts) {
		dir := t.TempDir()
		var all sync.WaitGroup
		for i := range 100 {
			all.Go(func() {
				id := fmt.Sprint(i)
				p, err := e.Start(t.Context(), shell(t, id, "echo ran >>"+dir+"/"+id+"; echo "+id+"; exit "+fmt.Sprint(i%7)))
				if err != nil {
					t.Errorf("process %s: %v", id, err)
					return
				}
				stdout := p.Stdout()
				got, err := io.ReadAll(stdout)
				code, waitErr := p.Wait(t.Context())
				if err := errors.Join(err, waitErr); err != nil || string(got) != id+"\n" || code != i%7 {
					t.Errorf("process %s: %q, exit code %d, error %v", id, got, code, err)
				}
				if ran, err := os.ReadFile(filepath.Join(dir, id)); string(ran) != "ran\n" {
					t.Errorf("process %s: %q, error %v", id, ran, err)
				}
			})
		}
		all.Wait()
	})
}

// TestSlowConsumerOfOne: a process that nobody takes anything of delays neither
// calls nor other processes.
func TestSlowConsumerOfOne(t *testing.T) {
	executors(t, func(t *testing.T, e client.Executor) {
		if !slices.Contains(e.Info().Airlock.Features, protocol.FeatureProcessWindow) {
			t.Skip("this executor can't hold back one process alone (feature processWindow)")
		}
		slow := start(t, e, "slow", "head -c 8000000 /dev/zero; exit 2")
		for i := range 5 {
			p := start(t, e, fmt.Sprint(i), "head -c 3000000 /dev/zero")
			if n, err := io.Copy(io.Discard, p.Stdout()); n != 3_000_000 || err != nil {
				t.Errorf("%d bytes, error %v", n, err)
			}
			if _, err := e.Status(t.Context()); err != nil {
				t.Error(err)
			}
		}
		got, err := io.ReadAll(slow.Stdout())
		if len(got) != 8_000_000 || err != nil {
			t.Errorf("%d bytes, error %v", len(got), err)
		}
		if code, err := slow.Wait(t.Context()); code != 2 || err != nil {
			t.Errorf("exit code %d, error %v", code, err)
		}
	})
}

// TestSubscribers: several look at a process of another program's session, from
// its beginning, while that goes on over cuts.
func TestSubscribers(t *testing.T) {
	flaky(t, 10, 60_000, func(t *testing.T, e client.Executor, _ *cuts) {
		want := numbers(100_000)
		p := start(t, e, "p", "seq 1 100000; exit 5")
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				var got strings.Builder
				code := -1
				for event, err := range p.Events(t.Context(), 0) {
					if err != nil {
						t.Error(err)
						return
					}
					got.Write(event.Data)
					if event.Kind == client.Exited {
						code = event.ExitCode
					}
				}
				if got.String() != want || code != 5 {
					t.Errorf("%d bytes, exit code %d", got.Len(), code)
				}
			})
		}
		if code, err := p.Wait(t.Context()); code != 5 || err != nil {
			t.Errorf("exit code %d, error %v", code, err)
		}
		all.Wait()
	})
}

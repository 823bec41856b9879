package spawn

import (
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/airlock-exec/airlock/internal/helper/plan"
)

// workspace is a confinement as agents have it: the host, read-only, a directory
// that can be written to, something covered, and no network.
func workspace(dir string) *plan.Confinement {
	c := isolated()
	c.Mounts = []plan.Mount{{Kind: plan.BindWritable, Path: dir}, {Kind: plan.CoverDirectory, Path: "/mnt", Mode: 0}}
	return c
}

// BenchmarkSandbox takes turns: /bin/true without a sandbox, in one with a helper
// that is made for it, in one with a helper that is prepared, and in that of
// bubblewrap, where it is installed. It reports medians.
func BenchmarkSandbox(b *testing.B) {
	needNamespaces(b)
	cold, warm := newSpawner(b), newSpawner(b)
	cold.system.prepared.closed = true
	dir := b.TempDir()
	confined := func(s *Spawner) func() {
		return func() {
			runToEnd(b, s, confinedBy(workspace(dir), &Command{Argv: []string{"/bin/true"}, Dir: "/", Stdin: true}))
		}
	}
	contenders := []struct {
		name string
		run  func()
	}{
		{"plain", func() { runToEnd(b, cold, benchTrue) }},
		{"cold", confined(cold)},
		{"prepared", confined(warm)},
	}
	if path, err := exec.LookPath("bwrap"); err == nil {
		argv := append(strings.Fields(path+" --ro-bind / / --dev /dev --bind "+dir+" "+dir+" --perms 000 --tmpfs /mnt --remount-ro /mnt "+
			"--unshare-user --unshare-pid --unshare-ipc --unshare-net --proc /proc --cap-drop ALL --die-with-parent --new-session --as-pid-1 --"), "/bin/true")
		contenders = append(contenders, struct {
			name string
			run  func()
		}{"bwrap", func() { runToEnd(b, cold, &Command{Argv: argv, Dir: "/", Stdin: true}) }})
	}
	times := make([][]time.Duration, len(contenders))
	confined(warm)()
	for b.Loop() {
		for i, c := range contenders {
			began := time.Now()
			c.run()
			times[i] = append(times[i], time.Since(began))
			if c.name == "prepared" {
				<-time.After(gentle + 20*time.Millisecond) // the next is made, in nobody's way
			}
		}
	}
	for i, c := range contenders {
		slices.Sort(times[i])
		b.ReportMetric(float64(times[i][len(times[i])/2].Microseconds())/1000, c.name+"-ms")
	}
	b.ReportMetric(0, "ns/op")
}

// BenchmarkSandboxRate is how many can be started one after the other, and 16 at a
// time, with what is prepared and what is not.
func BenchmarkSandboxRate(b *testing.B) {
	needNamespaces(b)
	for name, parallel := range map[string]int{"one": 1, "sixteen": 16} {
		b.Run(name, func(b *testing.B) {
			s := newSpawner(b)
			dir := b.TempDir()
			turns := make(chan struct{}, parallel)
			for b.Loop() {
				turns <- struct{}{}
				go func() {
					runToEnd(b, s, confinedBy(workspace(dir), &Command{Argv: []string{"/bin/true"}, Dir: "/"}))
					<-turns
				}()
			}
			for range parallel {
				turns <- struct{}{}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "starts/s")
		})
	}
}

// BenchmarkSandboxMemory is what an idle sandbox takes, its helper and what is
// shared included.
func BenchmarkSandboxMemory(b *testing.B) {
	needNamespaces(b)
	s := newSpawner(b)
	for b.Loop() {
		p, r := start(b, s, confinedBy(workspace(b.TempDir()), &Command{Argv: []string{"/bin/cat"}, Dir: "/", Stdin: true}))
		succeeded(b, p)
		var rss int64
		for line := range strings.SplitSeq(readStatus(p.PID()), "\n") {
			if value, ok := strings.CutPrefix(line, "VmRSS:"); ok {
				for _, c := range value {
					if c >= '0' && c <= '9' {
						rss = rss*10 + int64(c-'0')
					}
				}
			}
		}
		b.ReportMetric(float64(rss)/1024, "helper-MiB")
		p.Kill()
		<-r.closed
	}
}

func readStatus(pid int) string {
	text, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	return string(text)
}

package spawn

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"
)

// bare is the least that starting a process with three pipes can cost.
func bare(b *testing.B) {
	var pipes [3][2]int
	for i := range pipes {
		if err := syscall.Pipe2(pipes[i][:], syscall.O_CLOEXEC); err != nil {
			b.Fatal(err)
		}
	}
	pid, err := syscall.ForkExec("/bin/true", []string{"true"}, &syscall.ProcAttr{
		Dir:   "/",
		Files: []uintptr{uintptr(pipes[0][0]), uintptr(pipes[1][1]), uintptr(pipes[2][1])},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		b.Fatal(err)
	}
	syscall.Close(pipes[0][0])
	syscall.Close(pipes[1][1])
	syscall.Close(pipes[2][1])
	if _, err := syscall.Wait4(pid, nil, 0, nil); err != nil {
		b.Fatal(err)
	}
	syscall.Close(pipes[0][1])
	syscall.Close(pipes[1][0])
	syscall.Close(pipes[2][0])
}

func BenchmarkBare(b *testing.B) {
	for b.Loop() {
		bare(b)
	}
}

func BenchmarkBareParallel(b *testing.B) {
	b.SetParallelism(max(1, 16/runtime.GOMAXPROCS(0)))
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			bare(b)
		}
	})
}

// sink forgets what a process reports, except for its end.
type sink struct {
	closed chan struct{}
	bytes  int64
}

func (*sink) Admit(<-chan struct{})       {}
func (s *sink) Output(_ Stream, p []byte) { s.bytes += int64(len(p)) }
func (*sink) Exited(int)                  {}
func (s *sink) Closed()                   { close(s.closed) }

func runToEnd(b *testing.B, s *Spawner, cmd *Command) int64 {
	ev := &sink{closed: make(chan struct{})}
	if _, err := startFor(s, cmd, ev); err != nil {
		b.Fatal(err)
	}
	<-ev.closed
	return ev.bytes
}

var benchTrue = &Command{Argv: []string{"/bin/true"}, Dir: "/", Stdin: true}

func BenchmarkSpawnTrue(b *testing.B) {
	s := newSpawner(b)
	for b.Loop() {
		runToEnd(b, s, benchTrue)
	}
}

func BenchmarkSpawnTrueParallel(b *testing.B) {
	s := newSpawner(b)
	b.SetParallelism(max(1, 16/runtime.GOMAXPROCS(0)))
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			runToEnd(b, s, benchTrue)
		}
	})
}

func BenchmarkSpawnTTY(b *testing.B) {
	s := newSpawner(b)
	cmd := onTerminal(&Command{Argv: []string{"/bin/true"}, Dir: "/"})
	for b.Loop() {
		runToEnd(b, s, cmd)
	}
}

// BenchmarkOverBare takes turns, so that what else the machine does hits all
// alike, and reports medians and their ratio to bare.
func BenchmarkOverBare(b *testing.B) {
	s := newSpawner(b)
	tty := onTerminal(&Command{Argv: []string{"/bin/true"}, Dir: "/"})
	contenders := []struct {
		name string
		run  func()
	}{
		{"bare", func() { bare(b) }},
		{"pipes", func() { runToEnd(b, s, benchTrue) }},
		{"tty", func() { runToEnd(b, s, tty) }},
	}
	inParallel := func(run func()) func() {
		return func() {
			var all sync.WaitGroup
			for range 16 {
				all.Go(run)
			}
			all.Wait()
		}
	}
	for _, parallel := range []bool{false, true} {
		b.Run(fmt.Sprintf("parallel=%v", parallel), func(b *testing.B) {
			times := make([][]float64, len(contenders))
			for b.Loop() {
				for i, c := range contenders {
					run := c.run
					if parallel {
						run = inParallel(run)
					}
					began := time.Now()
					run()
					times[i] = append(times[i], float64(time.Since(began).Microseconds()))
				}
			}
			b.ReportMetric(0, "ns/op")
			for i, c := range contenders {
				slices.Sort(times[i])
				median := times[i][len(times[i])/2]
				b.ReportMetric(median, c.name+"-µs")
				if i > 0 {
					b.ReportMetric(median/times[0][len(times[0])/2], c.name+"/bare")
				}
			}
		})
	}
}

func BenchmarkStream(b *testing.B) {
	const size = 256 << 20
	for _, cmd := range []*Command{
		{Argv: []string{"head", "-c", "256M", "/dev/zero"}, Dir: "/", Env: testEnv},
		{Argv: []string{"dd", "if=/dev/zero", "bs=1M", "count=256", "status=none"}, Dir: "/", Env: testEnv},
	} {
		b.Run(cmd.Argv[0], func(b *testing.B) {
			s := newSpawner(b)
			b.SetBytes(size)
			for b.Loop() {
				if n := runToEnd(b, s, cmd); n != size {
					b.Fatalf("got %d bytes", n)
				}
			}
		})
	}
}

// BenchmarkIdleTTY reports the memory that an idle process with a terminal
// takes.
func BenchmarkIdleTTY(b *testing.B) {
	const n = 200
	s := newSpawner(b)
	var before, after runtime.MemStats
	b.ReportMetric(0, "ns/op")
	for b.Loop() {
		runtime.GC()
		runtime.ReadMemStats(&before)
		sinks := make([]*sink, n)
		processes := make([]*Process, n)
		for i := range n {
			sinks[i] = &sink{closed: make(chan struct{})}
			p, err := startFor(s, onTerminal(&Command{Argv: []string{"/bin/sleep", "1000"}, Dir: "/"}), sinks[i])
			if err != nil {
				b.Fatal(err)
			}
			processes[i] = p
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/n, "heap-B/tty")
		b.ReportMetric(float64(after.StackInuse-before.StackInuse)/n, "stack-B/tty")
		for i, p := range processes {
			p.Kill()
			<-sinks[i].closed
		}
	}
}

// BenchmarkSpawnLimited starts with limits of each kind: rlimits only take the
// helper, the others control groups, too.
func BenchmarkSpawnLimited(b *testing.B) {
	for name, limits := range map[string]Limits{
		"none":   {},
		"rlimit": {CPUSeconds: 1000, OpenFiles: 100},
		"all":    wide,
	} {
		b.Run(name, func(b *testing.B) {
			s := newSpawner(b)
			cmd := *benchTrue
			cmd.Limits = limits
			for b.Loop() {
				runToEnd(b, s, &cmd)
			}
		})
	}
}

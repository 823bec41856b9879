package spawn

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func init() {
	helpers["exhaust"] = helperExhaust
	helpers["many"] = helperMany
	helpers["idle"] = helperIdle
}

// openFiles counts the descriptors of this process.
func openFiles() int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		panic(err)
	}
	return len(entries) - 1 // its own
}

func report(t *testing.T, name, setup string) {
	t.Helper()
	out, err := reexec(t, name, setup).Output()
	if err != nil || string(out) != "ok\n" {
		t.Errorf("%v\n%s", err, out)
	}
}

// At the limit on open files a start fails cleanly wherever it hits it, and
// works again when there is room.
func TestFileLimit(t *testing.T) {
	t.Parallel()
	report(t, "exhaust", "ulimit -n 64")
}

func helperExhaust() {
	s := open()
	defer s.Close()
	// What the first start makes ready stays.
	r := newRecord()
	if _, err := startFor(s, &Command{Argv: []string{"/bin/true"}, Dir: "/"}, r); err != nil {
		fmt.Println(err)
		return
	}
	<-r.closed
	failures := 0
	for _, tty := range []bool{false, true} {
		for _, program := range []string{"/bin/true", "true"} {
			for room := 0; ; room++ {
				ok, err := startWithRoom(s, tty, program, room)
				if err != nil {
					fmt.Printf("tty %v, %s, room for %d: %v\n", tty, program, room, err)
					return
				}
				if ok {
					break
				}
				failures++
			}
		}
	}
	if failures < 10 {
		fmt.Printf("only %d starts failed\n", failures)
		return
	}
	fmt.Println("ok")
}

// startWithRoom starts a process with room for so many descriptors and tells
// whether that was enough.
func startWithRoom(s *Spawner, tty bool, program string, room int) (ok bool, err error) {
	before := openFiles()
	var fill []int
	for {
		fd, err := syscall.Open("/dev/null", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		if err != nil {
			break
		}
		fill = append(fill, fd)
	}
	free := func(n int) {
		for _, fd := range fill[:n] {
			syscall.Close(fd)
		}
		fill = fill[n:]
	}
	free(room)
	cmd := &Command{Argv: []string{program}, Dir: "/", Env: testEnv, Stdin: true}
	if tty {
		onTerminal(cmd)
	}
	r := newRecord()
	_, failure := startFor(s, cmd, r)
	free(len(fill))
	if failure == nil {
		<-r.closed
	} else if e, isTyped := errors.AsType[*Error](failure); !isTyped || e.Kind != Failed || !strings.Contains(e.Error(), "Too many open files (os error 24)") {
		return false, fmt.Errorf("unexpected error %v", failure)
	}
	if after := openFiles(); after != before {
		return false, fmt.Errorf("%d descriptors are open, %d before", after, before)
	}
	return failure == nil, nil
}

// Thousands of processes leave nothing behind.
func TestManyShortProcesses(t *testing.T) {
	t.Parallel()
	report(t, "many", "")
}

func helperMany() {
	runMany(100) // so that the poller is there
	files, goroutines := openFiles(), settledGoroutines()
	runMany(2000)
	if n := openFiles(); n != files {
		fmt.Printf("%d descriptors are open, %d before\n", n, files)
	}
	for began := time.Now(); settledGoroutines() > goroutines; {
		if time.Since(began) > 5*time.Second {
			fmt.Printf("%d goroutines, %d before\n", settledGoroutines(), goroutines)
			break
		}
	}
	fmt.Println("ok")
}

// runMany runs n short processes, some at a time.
func runMany(n int) {
	s := open()
	defer s.Close()
	const workers = 8
	var all sync.WaitGroup
	for worker := range workers {
		all.Go(func() {
			for i := range n / workers {
				cmd := shell("exit 3")
				cmd.Stdin = i%2 == 0
				if worker%2 == 0 {
					onTerminal(cmd)
				}
				r := newRecord()
				p, err := startFor(s, cmd, r)
				if err != nil {
					fmt.Println(err)
					return
				}
				<-r.closed
				if err := syscall.Kill(p.PID(), 0); err != syscall.ESRCH {
					fmt.Printf("process %d has not been reaped: %v\n", p.PID(), err)
				}
				if r.code != 3 {
					fmt.Printf("exit code %d\n", r.code)
				}
			}
		})
	}
	all.Wait()
}

// settledGoroutines counts goroutines when those that are about to return have
// done so.
func settledGoroutines() int {
	n := runtime.NumGoroutine()
	for range 1000 {
		runtime.Gosched()
		n = min(n, runtime.NumGoroutine())
	}
	return n
}

// Processes that wait hold neither threads nor buffers.
func TestIdleProcesses(t *testing.T) {
	t.Parallel()
	report(t, "idle", "")
}

func helperIdle() {
	const n = 300
	s := open()
	defer s.Close()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var records []*record
	for i := range n {
		cmd := &Command{Argv: []string{"/bin/cat"}, Dir: "/", Stdin: true}
		if i%2 == 0 {
			onTerminal(cmd)
		}
		r := newRecord()
		p, err := startFor(s, cmd, r)
		if err != nil {
			fmt.Println(err)
			return
		}
		if err := p.Write([]byte("x\n")); err != nil {
			fmt.Println(err)
			return
		}
		records = append(records, r)
	}
	for i, r := range records {
		stream := Stdout
		if i%2 == 0 {
			stream = Terminal
		}
		for !strings.Contains(r.text(stream), "x") {
			runtime.Gosched()
		}
	}
	runtime.GC()
	runtime.GC() // the first leaves pools a second life
	runtime.ReadMemStats(&after)
	memory := int(after.HeapAlloc+after.StackInuse-before.HeapAlloc-before.StackInuse) / n
	if memory > 20<<10 {
		fmt.Printf("%d bytes for each idle process\n", memory)
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		fmt.Println(err)
		return
	}
	_, rest, _ := strings.Cut(string(status), "\nThreads:\t")
	line, _, _ := strings.Cut(rest, "\n")
	if threads, err := strconv.Atoi(line); err != nil || threads > 30 {
		fmt.Printf("%d threads for %d idle processes (%v)\n", threads, n, err)
	}
	fmt.Println("ok")
}

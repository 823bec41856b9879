package helper

import (
	"fmt"
	"net"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/airlock-exec/airlock/internal/helper/plan"
	"github.com/airlock-exec/airlock/internal/sandbox/seccomp"
)

// tryStorm connects again and again while signals come down on the thread.
func tryStorm(port string) {
	dir, _ := os.MkdirTemp("", "storm")
	defer os.RemoveAll(dir)
	own := dir + "/s"
	listener := listenUnix(own, unix.SOCK_STREAM)
	signal.Notify(make(chan os.Signal, 1), unix.SIGUSR1)
	runtime.LockOSThread()
	thread := unix.Gettid()
	var stop atomic.Bool
	stopped := make(chan bool)
	go func() {
		for !stop.Load() {
			_ = unix.Tgkill(os.Getpid(), thread, unix.SIGUSR1)
		}
		close(stopped)
	}()
	number, _ := strconv.Atoi(port)
	answers := map[string]bool{}
	for range 300 {
		tcp, _ := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
		err := unix.Connect(tcp, &unix.SockaddrInet4{Port: number, Addr: [4]byte{127, 0, 0, 1}})
		answers[fmt.Sprint("tcp ", err)] = true
		unix.Close(tcp)
		path, _ := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		answers[fmt.Sprint("unix ", unix.Connect(path, &unix.SockaddrUnix{Name: own}))] = true
		if in, _, err := unix.Accept4(listener, unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK); err == nil {
			unix.Close(in)
		}
		unix.Close(path)
	}
	stop.Store(true)
	<-stopped
	for answer := range answers {
		fmt.Println(answer)
	}
}

// TestSignalStorm: a connect that a signal interrupts after it has been carried
// out is not carried out again, but answered as it was.
func TestSignalStorm(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}()
	out, denials := filtered(t, judged, plan.Sockets{}, "storm", strconv.Itoa(l.Addr().(*net.TCPAddr).Port))
	if a, b := "tcp operation now in progress\nunix <nil>\n", "unix <nil>\ntcp operation now in progress\n"; out != a && out != b {
		t.Errorf("%s; want %s", out, a)
	}
	if len(denials) > 0 {
		t.Error(denials)
	}
}

// tryRate connects as often, with TCP or UDP, and says how long each took.
func tryRate(network, port string) {
	number, _ := strconv.Atoi(port)
	kind := map[string]int{"tcp": unix.SOCK_STREAM, "udp": unix.SOCK_DGRAM}[network]
	const times = 2000
	var spent time.Duration
	for range times {
		fd, _ := unix.Socket(unix.AF_INET, kind|unix.SOCK_CLOEXEC, 0)
		start := time.Now()
		_ = unix.Connect(fd, &unix.SockaddrInet4{Port: number, Addr: [4]byte{127, 0, 0, 1}})
		spent += time.Since(start)
		unix.Close(fd)
	}
	fmt.Println((spent / times).Nanoseconds())
}

// BenchmarkConnect measures what judgement costs connections that need none.
func BenchmarkConnect(b *testing.B) {
	filter, err := seccomp.Compile(judged)
	if err != nil {
		b.Skip(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}()
	port := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	for _, network := range []string{"tcp", "udp"} {
		b.Run(network, func(b *testing.B) {
			for b.Loop() {
				plain, err := strconv.Atoi(trimmed(natively(b, "rate", network, port)))
				if err != nil {
					b.Fatal(err)
				}
				f := startFiltered(b, filter, plan.Sockets{}, "rate", network, port)
				judged, err := strconv.Atoi(trimmed(f.wait(b)))
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(plain)/1000, "plain-µs")
				b.ReportMetric(float64(judged)/1000, "judged-µs")
			}
		})
	}
}

func trimmed(s string) string { return s[:max(0, len(s)-1)] }

package helper

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/airlock-exec/airlock/internal/helper/plan"
	"github.com/airlock-exec/airlock/internal/sandbox/seccomp"
)

var judged = seccomp.Options{Mode: seccomp.Open, Judge: true, Report: true}

// tryConnect connects to each of some Unix sockets.
func tryConnect(paths []string) {
	for _, path := range paths {
		fmt.Println(path, connectUnix(path))
	}
}

func say(name string, err error) {
	errno, _ := err.(syscall.Errno)
	fmt.Println(name, unix.ErrnoName(errno))
}

// connectUnix connects a stream to a path, or, after @, to a name.
func connectUnix(path string) string {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err.Error()
	}
	defer unix.Close(fd)
	err = unix.Connect(fd, &unix.SockaddrUnix{Name: path})
	errno, _ := err.(syscall.Errno)
	if errno != 0 {
		return unix.ErrnoName(errno)
	}
	if _, err := unix.Getpeername(fd); err != nil {
		return "ok, but it is not connected"
	}
	return "ok"
}

func listenUnix(path string, kind int) int {
	fd, err := unix.Socket(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		err = unix.Bind(fd, &unix.SockaddrUnix{Name: path})
	}
	if err == nil {
		err = unix.Listen(fd, 100)
	}
	if err != nil {
		fmt.Println("listen at", path, err)
	}
	return fd
}

// tryConnections makes connections of many kinds. Open and closed are ports.
func tryConnections(open, closed string) {
	dir, err := os.MkdirTemp("", "own")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	_ = os.Chdir(dir)

	openPort, _ := strconv.Atoi(open)
	closedPort, _ := strconv.Atoi(closed)
	four := func(port int) *unix.SockaddrInet4 {
		return &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}
	}
	for _, flag := range []int{0, unix.SOCK_NONBLOCK} {
		for name, port := range map[string]int{"open": openPort, "closed": closedPort} {
			fd, _ := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|flag, 0)
			say(fmt.Sprint("tcp ", name, flag), unix.Connect(fd, four(port)))
			_, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}, 5000)
			say("poll", err)
			say(fmt.Sprint("again ", name, flag), unix.Connect(fd, four(port)))
			say(fmt.Sprint("and again ", name, flag), unix.Connect(fd, four(port)))
			flags, _ := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
			fmt.Println("flags", flags)
			unix.Close(fd)
		}
		fd, _ := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|flag, 0)
		say("udp", unix.Connect(fd, four(9)))
		say("udp, other family", unix.Connect(fd, &unix.SockaddrInet6{Port: 9}))
		none := unix.RawSockaddr{Family: unix.AF_UNSPEC}
		_, _, errno := unix.Syscall(unix.SYS_CONNECT, uintptr(fd), uintptr(unsafe.Pointer(&none)), unsafe.Sizeof(none))
		say("udp, none", errno)
		unix.Close(fd)
	}
	netlink, _ := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW, 0)
	say("netlink", unix.Connect(netlink, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}))

	stream, _ := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	address := unixAddress("x")
	raw := func(name string, fd, at, length uintptr) {
		_, _, errno := unix.Syscall(unix.SYS_CONNECT, fd, at, length)
		say(name, errno)
	}
	at := uintptr(unsafe.Pointer(&address[0]))
	raw("closed descriptor", 999, at, 4)
	raw("descriptor -1", ^uintptr(0), at, 4)
	raw("descriptor with high bits", 0xffffffff_00000000|uintptr(stream), at, 4)
	raw("standard input", 0, at, 4)
	raw("no address", uintptr(stream), 8, 16)
	raw("long", uintptr(stream), at, 129)
	raw("negative", uintptr(stream), at, ^uintptr(0))
	raw("longer than a path", uintptr(stream), at, 111)
	raw("only a family", uintptr(stream), at, 2)
	raw("nothing", uintptr(stream), at, 0)
	address[0] = unix.AF_INET
	raw("of another family", uintptr(stream), at, 4)

	_ = os.WriteFile("file", nil, 0o600)
	_ = os.Symlink("loop", "loop")
	for _, path := range []string{"missing", "file", ".", "file/x", "loop", "@nobody", strings.Repeat("x", 107)} {
		fmt.Println(strings.ReplaceAll(path, dir, ""), connectUnix(path))
	}

	listenUnix("own", unix.SOCK_STREAM)
	listenUnix("packets", unix.SOCK_SEQPACKET)
	listenUnix("@"+dir, unix.SOCK_STREAM)
	bound, _ := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	_ = unix.Bind(bound, &unix.SockaddrUnix{Name: "bound"})
	left := listenUnix("left", unix.SOCK_STREAM)
	unix.Close(left)
	_ = os.Symlink("own", "link")
	_ = os.Mkdir("dir", 0o700)
	inside, _ := unix.Open("dir", unix.O_PATH|unix.O_DIRECTORY, 0)
	for i, path := range []string{
		"own", dir + "/own", "link", dir + "/dir/../link", "packets", "bound", "left",
		"/proc/self/cwd/own", fmt.Sprintf("/proc/self/fd/%d/../own", inside), fmt.Sprintf("/proc/thread-self/fd/%d/../own", inside),
		"/proc/self/root" + dir + "/own",
		"@" + dir,
	} {
		fmt.Println("own", i, connectUnix(path))
	}
	_ = os.Chmod("own", 0)
	say("without permission", unix.Connect(stream, &unix.SockaddrUnix{Name: "own"}))
}

// natively runs the same without a filter.
func natively(t testing.TB, try ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
	cmd.Env = append(os.Environ(), raceAtOnce, tryStage+"="+strings.Join(try, " "))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Error(err)
	}
	return string(out)
}

// TestConnectIsTheSame: whatever a program connects, it gets the answers that it
// gets without a supervisor, as long as there is nothing to deny.
func TestConnectIsTheSame(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := func(l net.Listener) string { return strconv.Itoa(l.Addr().(*net.TCPAddr).Port) }
	open, closed := port(l), port(free)
	free.Close()
	want := sortedOutput(natively(t, "connections", open, closed))
	out, denials := filtered(t, judged, plan.Sockets{}, "connections", open, closed)
	if got := sortedOutput(out); got != want {
		t.Errorf("judged:\n%s\nwithout a supervisor:\n%s", got, want)
	}
	if len(denials) > 0 {
		t.Error(denials)
	}
}

func sortedOutput(text string) string {
	lines := strings.Split(text, "\n")
	// The order of what is open and closed is that of a map.
	var open, closed, rest []string
	for _, line := range lines {
		switch {
		case strings.Contains(line, "open"):
			open = append(open, line)
		case strings.Contains(line, "closed0"), strings.Contains(line, "closed2"):
			closed = append(closed, line)
		default:
			rest = append(rest, line)
		}
	}
	return strings.Join(append(append(open, closed...), rest...), "\n")
}

// TestForeignSockets: what others listen on is refused unless it is granted, by
// whatever name it is called. It is not run beside others: when they start
// programs, those have for a moment what this process has open, and descend from
// it, so that what it listens on seems to be their own.
func TestForeignSockets(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	host, granted := filepath.Join(dir, "host"), filepath.Join(dir, "granted")
	abstract := "@airlock-test-" + filepath.Base(dir) + strconv.Itoa(os.Getpid())
	for _, name := range []string{"d", "grantedness"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	near := filepath.Join(dir, "grantedness", "s")
	below := filepath.Join(dir, "d", "s")
	for _, name := range []string{host, granted, abstract, near, below} {
		l, err := net.Listen("unix", name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
	}
	link, hard := filepath.Join(dir, "link"), filepath.Join(dir, "hard")
	if err := os.Symlink(host, link); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(host, hard); err != nil {
		t.Fatal(err)
	}
	toGranted := filepath.Join(dir, "d", "link")
	if err := os.Symlink(host, toGranted); err != nil {
		t.Fatal(err)
	}
	names := []string{
		host, granted, abstract, near, below, link, hard, toGranted,
		filepath.Join(dir, "d") + "/../host", "/proc/self/root" + host, "/proc/1/root" + host,
	}
	out, denials := filtered(t, judged, plan.Sockets{Paths: []string{granted, filepath.Join(dir, "d")}},
		append([]string{"connect"}, names...)...)
	want := ""
	for i, verdict := range []string{"EACCES", "ok", "EPERM", "EACCES", "ok", "EACCES", "EACCES", "EACCES", "EACCES", "EACCES", ""} {
		if verdict == "" {
			continue // a link of /proc that leads out of what is seen
		}
		want += names[i] + " " + verdict + "\n"
	}
	if !strings.HasPrefix(out, want) || strings.Contains(out, "/proc/1/root"+host+" ok") {
		t.Errorf("%s; want\n%s", out, want)
	}
	told := map[string]uint64{}
	for _, d := range denials {
		if d.What != "connect" || d.Address != "" {
			t.Errorf("%+v", d)
		}
		told[d.Path] += d.Count
	}
	if told[host] < 4 || told[abstract] != 1 || told[near] != 1 || told[hard] != 1 {
		t.Errorf("denied are %v", told)
	}

	out, _ = filtered(t, judged, plan.Sockets{All: true}, "connect", host, abstract)
	if want := host + " ok\n" + abstract + " ok\n"; out != want {
		t.Errorf("all are granted: %s", out)
	}
	out, _ = filtered(t, judged, plan.Sockets{Abstract: true}, "connect", host, abstract)
	if want := host + " EACCES\n" + abstract + " ok\n"; out != want {
		t.Errorf("those without a path are granted: %s", out)
	}
}

// hole listens so that connections hang: there is no place for them.
func hole(t *testing.T) (port string) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	port = strconv.Itoa(name.(*unix.SockaddrInet4).Port)
	filler, err := net.Dial("tcp", "127.0.0.1:"+port)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { filler.Close() })
	return port
}

// tryHanging connects to a port where nothing goes on, and meanwhile elsewhere.
func tryHanging(hole, granted string) {
	port, _ := strconv.Atoi(hole)
	for range 3 {
		go func() {
			fd, _ := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
			fmt.Println("came back:", unix.Connect(fd, &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}))
		}()
	}
	for range 100 {
		fmt.Println(granted, connectUnix(granted))
	}
	fd, _ := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	timeout := unix.NsecToTimeval(int64(20 * time.Millisecond))
	_ = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &timeout)
	say("timeout", unix.Connect(fd, &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}))
	flags, _ := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	fmt.Println("flags", flags&unix.O_NONBLOCK)
	_ = unix.Kill(os.Getpid(), unix.SIGKILL)
}

// TestHangingConnect: a connection that goes nowhere holds up only its caller, and
// nothing when that is killed.
func TestHangingConnect(t *testing.T) {
	t.Parallel()
	granted := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", granted)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := hole(t)
	filter, err := seccomp.Compile(judged)
	if err != nil {
		t.Skip(err)
	}
	f := startFiltered(t, filter, plan.Sockets{Paths: []string{granted}}, "hang", port, granted)
	err = f.cmd.Wait()
	<-f.done // the supervisor has noticed
	if status, ok := f.cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != unix.SIGKILL {
		t.Error(err)
	}
	want := strings.Repeat(granted+" ok\n", 100) + "timeout EINPROGRESS\nflags 0\n"
	if f.out.String() != want {
		t.Errorf("%s; want %s", &f.out, want)
	}
}

// tryInterrupted sends itself signals while it connects, and lets that succeed only
// when they have come through.
func tryInterrupted() {
	listener, _ := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	_ = unix.Bind(listener, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
	_ = unix.Listen(listener, 0)
	address, _ := unix.Getsockname(listener)
	filler, _ := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	_ = unix.Connect(filler, address)
	for _, timeout := range []time.Duration{time.Minute, 0} {
		result, thread := make(chan error, 1), make(chan int, 1)
		go func() {
			runtime.LockOSThread()
			fd, _ := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
			limit := unix.NsecToTimeval(int64(timeout))
			_ = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &limit)
			thread <- unix.Gettid()
			err := unix.Connect(fd, address)
			unix.Close(fd) // or it would take the other one's place
			result <- err
		}()
		tid := <-thread
		status := "/proc/self/task/" + strconv.Itoa(tid) + "/status"
		interrupt := func() {
			_ = unix.Tgkill(os.Getpid(), tid, unix.SIGURG)
			for signalSet(readShort(status), "SigPnd:") != 0 {
				runtime.Gosched()
			}
		}
		for timeout > 0 { // until one comes while it is connecting
			interrupt()
			select {
			case err := <-result:
				say("connected", err)
				timeout = -1
			default:
			}
		}
		if timeout < 0 {
			continue
		}
		for range 3 {
			interrupt()
		}
		go func() {
			for {
				if in, _, err := unix.Accept(listener); err == nil {
					unix.Close(in)
				}
			}
		}()
		say("connected", <-result)
	}
}

// TestInterruptedConnect: signals come through to who waits for a connection, which
// goes on after their handlers; but not if the socket has a timeout, as ever.
func TestInterruptedConnect(t *testing.T) {
	t.Parallel()
	want := "connected EINTR\nconnected \n"
	if out := natively(t, "interrupted"); out != want {
		t.Errorf("without a supervisor: %s", out)
	}
	if out, _ := filtered(t, judged, plan.Sockets{}, "interrupted"); out != want {
		t.Errorf("judged: %s", out)
	}
}

// trySwapping connects again and again, while another thread changes the address
// under the hands of whoever judges it.
func trySwapping(own, foreign string) {
	listenUnix(own, unix.SOCK_STREAM)
	a, b := unixAddress(own), unixAddress(foreign)
	shared := append([]byte(nil), a...)
	var stop atomic.Bool
	go func() {
		for !stop.Load() {
			copy(shared, b)
			copy(shared, a)
		}
	}()
	connected, refused := 0, 0
	for range 2000 {
		fd, _ := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
		_, _, errno := unix.Syscall(unix.SYS_CONNECT, uintptr(fd), uintptr(unsafe.Pointer(&shared[0])), uintptr(len(shared)))
		switch peer, _ := unix.Getpeername(fd); {
		case errno != 0:
			refused++
		case peer.(*unix.SockaddrUnix).Name != own:
			fmt.Println("connected to", peer)
		default:
			connected++
		}
		unix.Close(fd)
		if errno == unix.EAGAIN {
			break // the queue of our own is full
		}
	}
	stop.Store(true)
	fmt.Println("done", connected > 0, refused > 0)
}

// TestSwappedAddress is not run beside others, either.
func TestSwappedAddress(t *testing.T) {
	dir := t.TempDir()
	own, foreign := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	l, err := net.Listen("unix", foreign)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	out, _ := filtered(t, judged, plan.Sockets{}, "swap", own, foreign)
	if !strings.HasPrefix(out, "done") {
		t.Error(out)
	}
	_ = l.(*net.UnixListener).SetDeadline(time.Now())
	if c, err := l.Accept(); err == nil {
		c.Close()
		t.Error("somebody has connected to what is not granted")
	}
}

// tryCrowd fills its own queue, and takes from it when somebody waits.
func tryCrowd() {
	dir, _ := os.MkdirTemp("", "crowd")
	defer os.RemoveAll(dir)
	path := dir + "/s"
	fd, _ := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	_ = unix.Bind(fd, &unix.SockaddrUnix{Name: path})
	_ = unix.Listen(fd, 1)
	full := 0
	for ; ; full++ {
		c, _ := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK, 0)
		if err := unix.Connect(c, &unix.SockaddrUnix{Name: path}); err != nil {
			say("full", err)
			break
		}
	}
	c, _ := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	timeout := unix.NsecToTimeval(int64(time.Millisecond))
	_ = unix.SetsockoptTimeval(c, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &timeout)
	say("late", unix.Connect(c, &unix.SockaddrUnix{Name: path}))
	done := make(chan string)
	go func() { done <- connectUnix(path) }()
	in, _, err := unix.Accept(fd)
	say("accepted", err)
	unix.Close(in)
	fmt.Println("then", <-done)
}

func TestCrowdedSocket(t *testing.T) {
	t.Parallel()
	want := natively(t, "crowd")
	if out, _ := filtered(t, judged, plan.Sockets{}, "crowd"); out != want {
		t.Errorf("judged: %s; without a supervisor: %s", out, want)
	}
}

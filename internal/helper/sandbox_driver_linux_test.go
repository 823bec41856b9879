package helper

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/airlock-exec/airlock/internal/helper/plan"
)

// sandboxed is a helper that a test has started, as the daemon would.
type sandboxed struct {
	t   testing.TB
	cmd *exec.Cmd
	up  channel

	stop chan struct{} // lets the thread go that has forked it

	mu     sync.Mutex
	output bytes.Buffer // guarded by mu
	more   *sync.Cond   // there is more output; with mu
	copied sync.WaitGroup
}

// canIsolate skips a test where no user namespaces can be had.
func canIsolate(t *testing.T) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/bin/true")
	cmd.SysProcAttr = namespaces(true)
	if err := cmd.Run(); err != nil {
		t.Skip("this system gives no user namespaces: ", err)
	}
}

// namespaces returns how the daemon forks an isolated helper.
func namespaces(network bool) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}},
		AmbientCaps: plan.NeededCapabilities,
		Setsid:      true,
		Pdeathsig:   unix.SIGKILL,
	}
	if network {
		attr.Cloneflags |= unix.CLONE_NEWNET
	}
	return attr
}

// prepareSandbox starts a helper that waits for its task.
func prepareSandbox(t *testing.T, isolated, network bool) *sandboxed {
	t.Helper()
	s := prepareFile(t, itself, isolated, network)
	t.Cleanup(s.close)
	return s
}

// prepareFile does so with a helper in a file.
func prepareFile(t testing.TB, file string, isolated, network bool) *sandboxed {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	theirs := os.NewFile(uintptr(pair[1]), "control")
	defer theirs.Close()
	cmd := exec.Command(file)
	cmd.Args = []string{Name, sandboxCommand}
	cmd.Env = helperEnvironment
	cmd.ExtraFiles = []*os.File{theirs}
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if isolated {
		cmd.SysProcAttr = namespaces(network)
	}
	// The thread that has forked a child must live as long: see Pdeathsig.
	started := make(chan error)
	stop := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		started <- cmd.Start()
		<-stop
	}()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	s := &sandboxed{t: t, cmd: cmd, up: channel(pair[0]), stop: stop}
	s.more = sync.NewCond(&s.mu)
	return s
}

// close ends it, and waits until nothing is left.
func (s *sandboxed) close() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
	s.copied.Wait()
	close(s.stop)
	unix.Close(int(s.up))
}

// settle waits until the helper waits for its task.
func (s *sandboxed) settle() {
	for {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(s.cmd.Process.Pid) + "/syscall")
		if err != nil {
			s.t.Fatal(err)
		}
		if bytes.HasPrefix(text, []byte(strconv.Itoa(unix.SYS_RECVMSG)+" ")) {
			return
		}
		runtime.Gosched()
	}
}

// assign gives it a task, with the given streams or its own.
func (s *sandboxed) assign(p *plan.Plan, extra ...int) {
	s.t.Helper()
	text, err := memoryFile(p.Append(nil))
	if err != nil {
		s.t.Fatal(err)
	}
	defer unix.Close(text)
	r, w, err := os.Pipe()
	if err != nil {
		s.t.Fatal(err)
	}
	defer w.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		s.t.Fatal(err)
	}
	defer null.Close()
	s.copied.Go(func() {
		defer r.Close()
		_, _ = io.Copy(s, r)
	})
	s.send(text, append([]int{int(null.Fd()), int(w.Fd()), int(w.Fd())}, extra...))
}

// send sends the task.
func (s *sandboxed) send(text int, files []int) {
	s.t.Helper()
	files = append([]int{text}, files...)
	if err := s.up.send(plan.Assign{}, files...); err != nil {
		s.t.Fatal(err)
	}
}

func (s *sandboxed) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.more.Broadcast()
	return s.output.Write(b)
}

// saw waits until a text has been printed.
func (s *sandboxed) saw(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for !strings.Contains(s.output.String(), text) {
		s.more.Wait()
	}
}

// answer returns the answer to the task.
func (s *sandboxed) answer() plan.Answer {
	s.t.Helper()
	m, files, err := s.up.receive()
	closeAll(files)
	answer, ok := m.(plan.Answer)
	if !ok {
		s.t.Fatalf("message %#v, %v; want an answer", m, err)
	}
	return answer
}

// end waits for the end, after an answer, and returns what has been printed.
func (s *sandboxed) end() (plan.End, string) {
	s.t.Helper()
	for {
		m, _, err := s.up.receive()
		if err != nil {
			s.t.Fatalf("%v; want the end", err)
		}
		if end, ok := m.(plan.End); ok {
			_ = s.cmd.Wait()
			if code := s.cmd.ProcessState.ExitCode(); code != end.Code {
				s.t.Errorf("the helper's exit code is %d, the program's %d", code, end.Code)
			}
			s.copied.Wait()
			return end, s.output.String()
		}
	}
}

// script returns a plan to run a shell script.
func script(c *plan.Confinement, text string) *plan.Plan {
	return &plan.Plan{
		Path: "sh", Argv: []string{"sh", "-c", text}, Dir: "/",
		Env: []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"}, Confine: c,
	}
}

// begin has a new helper execute a program, and returns it when that is so.
func begin(t *testing.T, p *plan.Plan, extra ...int) *sandboxed {
	t.Helper()
	s := prepareSandbox(t, p.Confine.Isolated, p.Confine.Offline)
	s.assign(p, extra...)
	if answer := s.answer(); answer.Step != plan.Executing {
		t.Fatalf("answer %+v (%v)", answer, answer.Step)
	}
	return s
}

// refused has a new helper try a plan, and returns why that fails. Nothing must
// have been executed.
func refused(t *testing.T, p *plan.Plan, isolated bool, extra ...int) plan.Answer {
	t.Helper()
	s := prepareSandbox(t, isolated, p.Confine.Offline)
	s.assign(p, extra...)
	answer := s.answer()
	if answer.Step == plan.Executing {
		t.Fatal("the program is executed")
	}
	_ = s.cmd.Wait()
	s.copied.Wait()
	if code := s.cmd.ProcessState.ExitCode(); code != exitExec || s.output.Len() > 0 {
		t.Errorf("exit code %d, output %q", code, s.output.String())
	}
	return answer
}

// prints asserts what a script prints, line by line, and that it succeeds.
func prints(t *testing.T, c *plan.Confinement, text, want string) {
	t.Helper()
	end, got := begin(t, script(c, text)).end()
	if strings.TrimSpace(got) != strings.TrimSpace(want) || end != (plan.End{}) {
		t.Errorf("%s\nprints %q and ends with %+v; want %q", text, got, end, want)
	}
}

// readOnly confines to all of the host, read-only, without a network.
func readOnly() *plan.Confinement {
	return &plan.Confinement{Isolated: true, Base: plan.ReadOnly, Offline: true}
}

// with adds mounts to a confinement.
func with(c *plan.Confinement, mounts ...plan.Mount) *plan.Confinement {
	c.Mounts = append(c.Mounts, mounts...)
	return c
}

// minimal confines to what programs need, and nothing else.
func minimal(t *testing.T) *plan.Confinement {
	t.Helper()
	c := &plan.Confinement{Isolated: true, Base: plan.Nothing, Offline: true}
	for _, dir := range []string{"/bin", "/etc", "/lib", "/lib64", "/sbin", "/usr"} {
		info, err := os.Lstat(dir)
		switch {
		case err != nil:
		case info.Mode()&os.ModeSymlink != 0:
			target, err := os.Readlink(dir)
			if err != nil {
				t.Fatal(err)
			}
			with(c, plan.Mount{Kind: plan.Link, Path: dir, Target: target})
		default:
			with(c, plan.Mount{Kind: plan.BindReadOnly, Path: dir})
		}
	}
	return c
}

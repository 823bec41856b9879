package tree

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func init() {
	helpers["felling"] = helperFelling
	helpers["mark"] = helperMark
}

// helperFelling kills trees by walk and prints "ok", or what has gone wrong; and
// what the keeper has to say.
func helperFelling() {
	k, err := Open(Config{Means: Walk, Subreaper: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("why:", k.Why())
	problems := 0
	for script := range strings.SplitSeq(os.Args[1], "\n") {
		f, err := run(k, script)
		if err == nil {
			_, err = f.lines.ReadString('\n')
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		dead := f.tree.Kill()
		var fds [1]unix.PollFd
		fds[0].Fd = int32(f.pipe.Fd())
		_, _ = unix.Poll(fds[:], 0)
		if alive := fds[0].Revents&unix.POLLHUP == 0; alive || !dead {
			fmt.Printf("%s: dead %v, alive %v\n", script, dead, alive)
			problems++
		}
		f.reap()
		f.tree.Release()
	}
	if err := k.Close(); err != nil {
		fmt.Println(err)
		problems++
	}
	if problems == 0 {
		fmt.Println("ok")
	}
}

const nobody = 65534

// asNobody has a command run by a user without rights, who has a folder for what
// is to survive.
func asNobody(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only the super-user can become others")
	}
	folder := t.TempDir()
	if err := os.Chown(folder, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	// The program may be where only we can go.
	self, err := os.Open(cmd.Path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { self.Close() })
	cmd.ExtraFiles = []*os.File{self}
	cmd.Path = "/proc/self/fd/3"
	cmd.Dir = "/"
	cmd.Env = append(cmd.Env, "TMPDIR=/tmp", "XDG_RUNTIME_DIR="+folder)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
}

func helperCommand(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), helperVariable+"="+name)
	cmd.Stderr = os.Stderr
	return cmd
}

// With each marker, whole trees are found, also by a user without rights.
func TestMarkers(t *testing.T) {
	tests := []struct {
		marker     string
		privileged bool // it takes rights
	}{
		{"timer slack", true}, {"time slice", false}, {"I/O priority hint", false}, {"personality", false},
	}
	for _, test := range tests {
		for _, user := range []string{"root", "nobody"} {
			t.Run(test.marker+"/"+user, func(t *testing.T) {
				t.Parallel()
				cmd := helperCommand(t, "felling", strings.Join(escapees, "\n"))
				if user == "nobody" {
					if test.privileged {
						t.Skip("takes rights")
					}
					asNobody(t, cmd)
				}
				cmd.Env = append(cmd.Env, markerVariable+"="+test.marker)
				out, err := cmd.Output()
				if err != nil {
					t.Fatal(err)
				}
				if strings.Contains(string(out), "nothing to mark") {
					t.Skipf("not possible here: %s", out)
				}
				if !strings.HasSuffix(string(out), "\nok\n") {
					t.Errorf("%s", out)
				}
			})
		}
	}
}

// Without one, what can be found is found, and the keeper says that not all is.
func TestNoMarker(t *testing.T) {
	cmd := helperCommand(t, "felling", strings.Join([]string{
		escapees[0], escapees[2], escapees[3],
		"sh -c 'setsid sleep 1000 & echo ready; wait' & wait",
	}, "\n"))
	cmd.Env = append(cmd.Env, markerVariable+"=")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if got := string(out); !strings.HasSuffix(got, "\nok\n") || !strings.Contains(got, "nothing to mark processes with") {
		t.Errorf("%s", got)
	}
}

// helperMark marks a thread, runs a program on it and prints the mark that this
// has, and the one of the next program after the reset.
func helperMark() {
	offMainThread(func() {
		m := markers[0]()
		before, err := m.get(unix.Gettid())
		fmt.Println(before, err)
		for _, mark := range []uint32{1, m.most / 2, m.most} {
			if err := m.set(mark); err != nil {
				fmt.Println(err)
				return
			}
			got, want := markOfChild(m), fmt.Sprint(mark)
			m.reset()
			if after := markOfChild(m); got != want || after != "0" {
				fmt.Printf("mark %s, want %s; after the reset %s, want 0\n", got, want, after)
			}
		}
		fmt.Println("ok")
	})
}

func markOfChild(m *marker) string {
	// The session of its own does not matter, nor does the second execve.
	cmd := exec.Command("/bin/sh", "-c", "exec setsid sh -c 'echo; read x'")
	stdin, _ := cmd.StdinPipe()
	stdout, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		return err.Error()
	}
	var b [1]byte
	if _, err := stdout.Read(b[:]); err != nil {
		return err.Error()
	}
	mark, err := m.get(cmd.Process.Pid)
	if err != nil {
		return err.Error()
	}
	stdin.Close()
	_ = cmd.Wait()
	return fmt.Sprint(mark)
}

func TestMarkIsInherited(t *testing.T) {
	offMainThread(func() {
		for _, open := range markers {
			m := open()
			if m == nil || !m.works() {
				continue
			}
			cmd := helperCommand(t, "mark")
			cmd.Env = append(cmd.Env, markerVariable+"="+m.name)
			if out, err := cmd.Output(); err != nil || string(out) != "0 <nil>\nok\n" {
				t.Errorf("%s: %v\n%s", m.name, err, out)
			}
		}
	})
}

// Two programs never have the same mark, and one goes on to other blocks when
// its own are used up.
func TestMarksAreExclusive(t *testing.T) {
	ours, theirs := openMarks(), openMarks()
	if ours == nil || theirs == nil {
		t.Skip("there is no marker here")
	}
	defer ours.close()
	defer theirs.close()
	taken := map[uint32]bool{}
	for _, ms := range []*marks{ours, theirs} {
		for range 2*ms.marker.blockSize() + 1 {
			mark, err := ms.take()
			if err != nil {
				t.Fatal(err)
			}
			if mark < 1 || mark > ms.marker.most || taken[mark] {
				t.Fatalf("mark %d of %d has been given before, or can't be", mark, ms.marker.most)
			}
			taken[mark] = true
		}
	}
	for {
		if _, err := ours.take(); err != nil {
			if err != errNoMarks {
				t.Errorf("when all are used up: %v, want %v", err, errNoMarks)
			}
			break
		}
	}
}

package spawn

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"testing"
	"time"
)

func init() {
	helpers["first"] = helperFirst
}

// helperFirst is the first process of a container: it gets the orphans.
func helperFirst() {
	if os.Getpid() != 1 {
		fmt.Println("this is process", os.Getpid())
		return
	}
	s := New(Config{OwnsProgram: true})
	// Children of other parts of the program are left to these.
	other := exec.Command("/bin/sh", "-c", "exit 7")
	if err := other.Start(); err != nil {
		fmt.Println(err)
		return
	}
	// So is a leader that has to wait for its streams, for longer than it takes
	// to reap orphans.
	lingering := newRecord()
	if _, err := startFor(s, shell("sleep 4 & exit 5"), lingering); err != nil {
		fmt.Println(err)
		return
	}
	for range 3 {
		r := newRecord()
		if _, err := startFor(s, shell("for i in 1 2 3; do (sleep 0.1 & exec setsid true) & done; (sleep 0.2 >/dev/null 2>&1 &) ; exit 6"), r); err != nil {
			fmt.Println(err)
			return
		}
		<-r.closed
		if r.code != 6 {
			fmt.Println("exit code", r.code)
		}
	}
	for began := time.Now(); zombies(other.Process.Pid) > 1 || time.Since(began) < 3*time.Second; runtime.Gosched() {
		if time.Since(began) > 10*time.Second {
			fmt.Println(zombies(other.Process.Pid), "zombies, want one: the leader that waits for its streams")
			break
		}
	}
	<-lingering.closed
	if lingering.code != 5 {
		fmt.Println("exit code of the lingering one", lingering.code)
	}
	s.Close()
	fmt.Println("ok")
}

// zombies counts the dead children of this process, without one.
func zombies(without int) (n int) {
	for _, pid := range children() {
		if f := statFields(pid); len(f) > 0 && f[0] == "Z" && pid != without {
			n++
		}
	}
	return n
}

// As the first process of a container, the executor reaps orphans, and nothing
// else.
func TestOrphansAreReaped(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("unshare", "--pid", "--fork", "--mount-proc", "true").CombinedOutput(); err != nil {
		t.Skipf("no process namespaces here: %v %s", err, out)
	}
	cmd := exec.Command("unshare", "--pid", "--fork", "--mount-proc", "--kill-child", self)
	cmd.Env = append(os.Environ(), helperVariable+"=first")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil || string(out) != "ok\n" {
		t.Errorf("%v\n%s", err, out)
	}
}

// Who can't be told from a child that is just being started is left alone.
func TestOrphansAndForks(t *testing.T) {
	t.Parallel()
	var o orphans
	o.start()
	defer o.close()
	done := o.forking()
	cmd := exec.Command("/bin/true")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	c := child{pid: pid}
	if c.wait().gone {
		t.Fatal("it has been reaped")
	}
	start, dead := o.inspect(pid)
	if !dead {
		t.Fatal("a dead child is not seen as such")
	}
	s := stray{start: start, fork: 1}
	if o.isOrphan(pid, s) {
		t.Error("taken for an orphan while a fork is in progress that was when it was first seen")
	}
	done(&c)
	if _, dead := o.inspect(pid); dead || o.isOrphan(pid, s) {
		t.Error("a child of the Spawner has been taken for an orphan")
	}
	o.reaped(pid)
	if !o.isOrphan(pid, s) {
		t.Error("an orphan has not been recognised")
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if _, dead := o.inspect(pid); dead {
		t.Error("nobody is taken for a dead child of " + strconv.Itoa(pid))
	}
}

package spawn

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/airlock-exec/airlock/internal/spawn/tree"
	"github.com/airlock-exec/airlock/internal/spawn/warden"
)

func init() { helpers["limited"] = helperLimited }

// groups lists the top directories of control groups that there are.
func groups(t *testing.T) (all []string) {
	t.Helper()
	for _, pattern := range []string{"/sys/fs/cgroup/airlock-*", "/sys/fs/cgroup/*/airlock-*", "/sys/fs/cgroup/*/*/*/airlock-*"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, found...)
	}
	return all
}

// helperLimited starts a process within limits, prints where it is, and waits to
// be killed.
func helperLimited() {
	s := New(Config{Registrar: func() tree.Registrar {
		w := warden.New(warden.Config{})
		if err := w.Start(); err != nil {
			fmt.Println(err)
		}
		return w
	}})
	r := newRecord()
	cmd := within(wide, "cat /proc/self/cgroup; setsid sleep 1000 & echo $! over; wait")
	if _, err := startFor(s, cmd, r); err != nil {
		fmt.Println(err)
		return
	}
	for !strings.Contains(r.text(Stdout), "over") {
	}
	fmt.Print(r.text(Stdout), "\n")
	select {}
}

// When the program has been killed, the warden kills who has limits and removes
// what these needed.
func TestLimitsAfterDeath(t *testing.T) {
	t.Parallel()
	needGroups(t)
	cmd := reexec(t, "limited", "")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var made []string
	var pid int
	lines := bufio.NewScanner(stdout)
	for lines.Scan() && lines.Text() != "" {
		if _, path, ok := strings.Cut(lines.Text(), ":/"); ok && strings.Contains(path, "airlock-") {
			made = append(made, filepath.Base(filepath.Dir(path)))
		}
		_, _ = fmt.Sscan(lines.Text(), &pid)
	}
	if len(made) == 0 || pid == 0 {
		_ = cmd.Process.Kill()
		t.Fatalf("groups %v, process %d", made, pid)
	}
	wait := death(t, pid)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	wait()
	late := time.Now().Add(10 * time.Second)
	for {
		left := slices.DeleteFunc(groups(t), func(path string) bool { return !slices.Contains(made, filepath.Base(path)) })
		if len(left) == 0 {
			return
		}
		if time.Now().After(late) {
			t.Fatalf("left: %v", left)
		}
	}
}

// registered keeps the records of what is to be removed.
type registered struct {
	mu  sync.Mutex
	all []string // guarded by mu; every record that has ever been added
	now map[string]bool
}

func (r *registered) Add(record string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, record)
	r.now[record] = true
}

func (r *registered) Remove(record string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.now, record)
}

// Nothing is left when a Spawner has been closed, and all that there was has been
// told to the registrar.
func TestLimitsAfterClose(t *testing.T) {
	t.Parallel()
	needGroups(t)
	reg := &registered{now: map[string]bool{}}
	s := New(Config{Registrar: func() tree.Registrar { return reg }})
	var groups []string
	for _, script := range []string{"exit 0", "setsid sleep 1000 >/dev/null 2>&1 & exit 0", "sleep 1000"} {
		_, r := start(t, s, within(wide, "cat /proc/self/cgroup; echo over; "+script))
		r.await(t, Stdout, "over")
		for line := range strings.Lines(r.text(Stdout)) {
			if i := strings.Index(line, "airlock-"); i >= 0 {
				top, _, _ := strings.Cut(line[i:], "/")
				groups = append(groups, top)
			}
		}
		if strings.Contains(script, "exit") {
			<-r.closed
		}
	}
	if len(groups) == 0 {
		t.Error("no groups have been made")
	}
	s.Close()
	if len(reg.now) > 0 {
		t.Errorf("left: %v", reg.now)
	}
	all := strings.Join(reg.all, "\n")
	for _, top := range groups {
		if !strings.Contains(all, top) {
			t.Errorf("%s has not been told to the registrar", top)
		}
	}
	for _, record := range reg.all {
		_, quoted, _ := strings.Cut(record, " ")
		path, err := strconv.Unquote(quoted)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left", path)
		}
	}
}

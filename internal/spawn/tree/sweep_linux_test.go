package tree

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

func init() {
	helpers["daemon"] = helperDaemon
}

// printer prints records.
type printer struct{}

func (printer) Add(record string)    { fmt.Println("record", record) }
func (printer) Remove(record string) { fmt.Println("removed", record) }

// helperDaemon is a program that starts trees by the means in its first argument
// and waits for its end.
func helperDaemon() {
	k, err := Open(Config{Means: Means(os.Args[1]), Registrar: printer{}})
	if err != nil {
		fmt.Println("error", err)
		return
	}
	scripts := append([]string{
		"setsid sleep 1000 & echo ready",
		"sleep 1000 & echo ready",
	}, escapees...)
	for i, script := range scripts {
		f, err := run(k, script+" # "+os.Args[2])
		if err != nil {
			fmt.Println("error", err)
			return
		}
		if _, err := f.lines.ReadString('\n'); err != nil {
			fmt.Println("error", err)
			return
		}
		if i == 0 {
			f.reap()
		}
	}
	fmt.Println("ready", k.Why())
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// daemon is a running helperDaemon.
type daemon struct {
	cmd     *exec.Cmd
	life    *os.File // hangs up when it and all that it has started are dead
	records []string
}

// startDaemon starts one. All of its descendants have a pipe open.
func startDaemon(t *testing.T, means Means, prepare func(*exec.Cmd)) *daemon {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	d := &daemon{cmd: exec.Command(self, string(means), t.Name()), life: r}
	d.cmd.Env = append(os.Environ(), helperVariable+"=daemon")
	// The helper has it as standard error, which its children get, too.
	d.cmd.Stderr = w
	if prepare != nil {
		prepare(d.cmd)
	}
	stdin, err := d.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stdin.Close() })
	stdout, err := d.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		what, rest, _ := strings.Cut(lines.Text(), " ")
		switch what {
		case "record":
			d.records = append(d.records, rest)
		case "ready":
			if rest != "" {
				t.Log(rest)
			}
			return d
		default:
			t.Fatal(lines.Text())
		}
	}
	t.Fatal("the helper has ended")
	return nil
}

// die kills the daemon itself.
func (d *daemon) die(t *testing.T) {
	t.Helper()
	if err := d.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = d.cmd.Wait()
	if hungUp(t, d.life, 0) {
		t.Fatal("nothing has survived, so that there is nothing to test")
	}
}

func (d *daemon) paths(t *testing.T) (paths []string) {
	t.Helper()
	for _, record := range d.records {
		_, path, err := parseRecord(record)
		if err != nil {
			t.Fatal(err)
		}
		if !exists(path) {
			t.Errorf("%s, of which there is a record, does not exist", path)
		}
		paths = append(paths, path)
	}
	return paths
}

// expectNothing checks that nothing is alive and nothing there any more.
func (d *daemon) expectNothing(t *testing.T, paths []string) {
	t.Helper()
	if !hungUp(t, d.life, killTime) {
		t.Error("some of a dead program's processes live on")
	}
	for _, path := range paths {
		if exists(path) {
			t.Errorf("%s is left behind", path)
		}
	}
}

// Another program kills and removes what a dead one has left behind.
func TestSweep(t *testing.T) {
	t.Parallel()
	eachMeans(t, func(t *testing.T, means Means) {
		t.Parallel()
		d := startDaemon(t, means, nil)
		paths := d.paths(t)
		if len(paths) != 1 {
			t.Fatalf("records %q, want one", d.records)
		}
		if err := Sweep(d.records[0]); !errors.Is(err, errOwned) {
			t.Errorf("Sweep while the program lives: %v, want %v", err, errOwned)
		}
		if !exists(paths[0]) {
			t.Error("what a living program uses has been removed")
		}
		d.die(t)
		for range 2 {
			for _, record := range d.records {
				if err := Sweep(record); err != nil {
					t.Error(err)
				}
			}
			d.expectNothing(t, paths)
		}
	})
}

// What nobody has swept the next keeper of the same user does, whatever its own
// means are.
func TestNextOpenSweeps(t *testing.T) {
	eachMeans(t, func(t *testing.T, means Means) {
		living := startDaemon(t, means, nil)
		dead := startDaemon(t, means, nil)
		paths := dead.paths(t)
		dead.die(t)
		open(t, Config{Means: Group})
		dead.expectNothing(t, paths)
		if hungUp(t, living.life, 0) {
			t.Error("processes of a living program have been killed")
		}
		living.paths(t)
		living.die(t)
		if err := Sweep(living.records[0]); err != nil {
			t.Error(err)
		}
	})
}

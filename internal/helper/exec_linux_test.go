package helper

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/airlock-exec/airlock/internal/helper/plan"
)

// runPlan has the helper carry out a plan and returns what the program printed
// and the helper's answer.
func runPlan(t *testing.T, encoded []byte) (output string, answer plan.Answer, ok bool) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "plan")
	if err := os.WriteFile(name, encoded, 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	path, argv, err := Exec()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), path)
	cmd.Args = argv
	cmd.Env = []string{"OF=the helper", "GOMAXPROCS=1"}
	cmd.ExtraFiles = []*os.File{file, w} // 3 and 4
	var text strings.Builder
	cmd.Stdout, cmd.Stderr = &text, &text
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	answer, ok = plan.DecodeAnswers(b)
	return text.String(), answer, ok
}

func TestExec(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"first", "second"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := &plan.Plan{
		Path: "/bin/sh", Argv: []string{"-odd", "-c", `echo "$0 $A $OF"; pwd; ulimit -S -n; ulimit -H -n; ulimit -t; cat first second; test -e /proc/$$/fd/3 || test -e /proc/$$/fd/4 || echo closed`},
		Env: []string{"A=1", "PATH=/usr/bin:/bin"}, Parent: os.Getpid(), DeathSignal: int(unix.SIGTERM), Dir: dir,
		Rlimits: []plan.Rlimit{{Resource: unix.RLIMIT_NOFILE, Soft: 20, Hard: 21}, {Resource: unix.RLIMIT_CPU, Soft: 5, Hard: 6}},
		Writes:  []plan.Write{{Path: filepath.Join(dir, "first"), Text: "one"}, {Path: filepath.Join(dir, "second"), Text: "two"}},
	}
	want := "-odd 1 \n" + dir + "\n20\n21\n5\none\ntwo\nclosed\n"
	output, answer, ok := runPlan(t, p.Append(nil))
	if output != want || !ok || answer.Step != plan.Executing {
		t.Errorf("output %q, answer %+v, %v; want %q", output, answer, ok, want)
	}
}

// Each failure is told, and nothing is executed.
func TestExecFails(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		change func(*plan.Plan)
		want   plan.Answer
	}{
		{"folder", func(p *plan.Plan) { p.Dir = "/nonexistent" }, plan.Answer{Step: plan.Entering, Errno: unix.ENOENT}},
		{"file to write", func(p *plan.Plan) {
			p.Writes = []plan.Write{{Path: "/dev/null"}, {Path: "/nonexistent/file"}}
		}, plan.Answer{Step: plan.Writing, Index: 1, Errno: unix.ENOENT}},
		{"write", func(p *plan.Plan) {
			p.Writes = []plan.Write{{Path: "/dev/full", Text: "x"}}
		}, plan.Answer{Step: plan.Writing, Errno: unix.ENOSPC}},
		{"limit", func(p *plan.Plan) {
			p.Rlimits = []plan.Rlimit{{Resource: unix.RLIMIT_CPU, Soft: 9, Hard: 9}, {Resource: unix.RLIMIT_CPU, Soft: 9, Hard: 8}}
		}, plan.Answer{Step: plan.Limiting, Index: 1, Errno: unix.EINVAL}},
		{"limit that there is none of", func(p *plan.Plan) {
			p.Rlimits = []plan.Rlimit{{Resource: 99, Soft: 9, Hard: 9}}
		}, plan.Answer{Step: plan.Limiting, Errno: unix.EINVAL}},
		{"program", func(p *plan.Plan) { p.Path = "/nonexistent" }, plan.Answer{Step: plan.Execution, Errno: unix.ENOENT}},
		{"NUL", func(p *plan.Plan) { p.Argv = []string{"\x00"} }, plan.Answer{Step: plan.Execution, Errno: unix.EINVAL}},
		{"death signal", func(p *plan.Plan) { p.DeathSignal = 1000 }, plan.Answer{Step: plan.Reading, Errno: unix.EINVAL}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := &plan.Plan{Path: "/bin/echo", Argv: []string{"echo", "hi"}, Parent: os.Getpid()}
			test.change(p)
			output, answer, ok := runPlan(t, p.Append(nil))
			if output != "" || !ok || answer != test.want {
				t.Errorf("output %q, answer %+v, %v; want %+v", output, answer, ok, test.want)
			}
		})
	}
	output, answer, ok := runPlan(t, []byte("airlock plan 9\n"))
	if want := (plan.Answer{Step: plan.Reading, Errno: unix.EINVAL}); output != "" || !ok || answer != want {
		t.Errorf("no plan: output %q, answer %+v, %v; want %+v", output, answer, ok, want)
	}
}

// A daemon that has died before the helper could ask to be told of it: the
// program does not outlive it.
func TestExecWithoutParent(t *testing.T) {
	t.Parallel()
	p := &plan.Plan{Path: "/bin/echo", Argv: []string{"echo", "hi"}, Parent: os.Getpid() + 1, DeathSignal: int(syscall.SIGTERM)}
	if output, answer, ok := runPlan(t, p.Append(nil)); output != "" || ok {
		t.Errorf("output %q, answer %+v, %v; want none", output, answer, ok)
	}
}

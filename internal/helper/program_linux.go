package helper

import (
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/airlock-exec/airlock/internal/helper/plan"
)

// Exit codes of a program that can't be executed, as shells have them.
const (
	exitNotFound      = 127
	exitNotExecutable = 126
)

// defaultPath is where programs are looked for without a PATH.
const defaultPath = "/usr/local/bin:/usr/bin:/bin"

// isSearched tells whether a program is looked for on the PATH.
func isSearched(p *plan.Plan) bool { return p.Path != "" && !strings.Contains(p.Path, "/") }

// candidates returns the files that a program may be, in the order in which they
// are to be tried.
func candidates(p *plan.Plan) []string {
	if !isSearched(p) {
		return []string{p.Path}
	}
	var files []string
	for dir := range strings.SplitSeq(searchPath(p.Env), ":") {
		if dir == "" {
			dir = "."
		}
		files = append(files, dir+"/"+p.Path)
	}
	return files
}

// searchPath returns the last PATH of an environment: the one that counts.
func searchPath(env []string) string {
	for _, variable := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(variable, "PATH="); ok {
			return value
		}
	}
	return defaultPath
}

// try calls execute for each file until one has been executed. If they are searched
// for, an error counts other than that there is no such file; where nobody may look,
// there is none.
func try(files []string, searched bool, execute func(file string) error) error {
	result := error(unix.ENOENT)
	for _, file := range files {
		err := persist(func() error { return execute(file) })
		switch err {
		case nil:
			return nil
		case unix.ENOENT, unix.ENOTDIR:
			if !searched {
				return err
			}
		case unix.EACCES:
			if !searched || !isHidden(file) {
				result = err
			}
		default:
			return err
		}
	}
	return result
}

// isHidden tells whether it can't even be said that a file is there.
func isHidden(file string) bool {
	var s unix.Stat_t
	return unix.Stat(file, &s) == unix.EACCES
}

// persist tries again while a file is open for writing, as it may be for a moment
// in a child that has not executed its program yet.
func persist(execute func() error) (err error) {
	for pause := time.Millisecond; ; pause *= 2 {
		if err = execute(); err != unix.ETXTBSY || pause > busyPause {
			return err
		}
		<-time.After(pause)
	}
}

const busyPause = 32 * time.Millisecond

// explain tells a program's user why it can't be executed, and returns the exit
// code.
func explain(stderr int, program string, err error) int {
	errno := errnoOf(err)
	text := errno.Error()
	text = "airlock: " + program + ": " + strings.ToUpper(text[:1]) + text[1:] + "\n"
	_ = rawWrite(stderr, []byte(text))
	if errno == unix.ENOENT || errno == unix.ENOTDIR {
		return exitNotFound
	}
	return exitNotExecutable
}

// nameOf returns what a program is called in an explanation.
func nameOf(p *plan.Plan) string {
	if p.Path == "" && len(p.Argv) > 0 {
		return p.Argv[0]
	}
	return p.Path
}

// childAttributes returns how to fork what is to be, or to become, the program: the leader of
// a session of its own, with the terminal if there is one. It dies with the thread
// that forks it.
func childAttributes(p *plan.Plan, env []string, files ...int) *syscall.ProcAttr {
	attr := &syscall.ProcAttr{
		Env: env,
		Sys: &syscall.SysProcAttr{Setsid: true, Setctty: p.TTY, Pdeathsig: unix.SIGKILL},
	}
	for _, fd := range files {
		attr.Files = append(attr.Files, uintptr(fd))
	}
	return attr
}

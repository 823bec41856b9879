//go:build unix

package terminal

import (
	"strings"
	"syscall"
	"testing"
)

// TestJob: `airlock run` is itself a job of a shell, and the command stops and
// goes on with it.
func TestJob(t *testing.T) {
	t.Parallel()
	require(t)
	everyWay(t, func(t *testing.T, run string) {
		run = strings.Replace(run, " -t", "", 1)
		w := open(t)
		w.remember()
		sleep := nap()
		w.enter(run + " " + sleep)
		awaitState(t, sleep, "", "S")
		w.press("C-z")
		w.await("Stopped")
		awaitState(t, sleep, "", "T")
		awaitState(t, "airlock run", sleep, "T")

		w.clear(prompt)
		w.enter("bg")
		awaitState(t, sleep, "", "S")
		w.say("echo between", "between")
		w.say("jobs | sed 's/  */ /g;s/airlock.* sleep.*/it/'", "[1]+ Running it")

		w.enter("fg")
		awaitState(t, "airlock run", sleep, "S+")
		w.press("C-z")
		w.await("Stopped")
		awaitState(t, sleep, "", "T")
		w.clear(prompt)
		w.enter("fg")
		awaitState(t, sleep, "", "S")
		awaitState(t, "airlock run", sleep, "S+")
		w.press("C-c")
		w.awaitPrompt(prompt)
		w.say("echo status $?", "status 130")
		w.asBefore()
		awaitGone(t, sleep, "")
	})
}

// TestJobReads: a job reads lines when it is in the foreground, and leaves them to
// the shell when it is not.
func TestJobReads(t *testing.T) {
	t.Parallel()
	require(t)
	everyWay(t, func(t *testing.T, run string) {
		run = strings.Replace(run, " -t", "", 1)
		w := open(t)
		w.remember()
		w.enter(run + " sh -c 'echo ready; exec sed -u s/^/got:/'")
		w.await("\nready\n")
		w.say("one", "got:one")
		w.press("C-z")
		w.await("Stopped")
		w.clear(prompt)
		w.say("bg; echo between", "between")
		w.clear(prompt)
		w.enter("fg")
		w.await("sed")
		w.say("two", "got:two")
		w.press("C-d")
		w.awaitPrompt(prompt)
		w.asBefore()
	})
}

// TestStopped: who is stopped from outside while the command has the terminal
// gives it back, and takes it again.
func TestStopped(t *testing.T) {
	t.Parallel()
	require(t, "vim")
	everyWay(t, func(t *testing.T, run string) {
		w := open(t)
		w.remember()
		file := "file" + strings.TrimPrefix(nap(), "sleep ")
		w.enter(run + " " + vim + " " + file)
		w.await(`"` + file + `" [New`)
		w.keys("iwritten")
		w.press("Escape")
		w.await("written")
		w.awaitNo("-- INSERT --")
		airlock := awaitState(t, "airlock run", file, "S+")
		for _, stop := range []syscall.Signal{syscall.SIGTSTP, syscall.SIGSTOP} {
			if err := syscall.Kill(airlock, stop); err != nil {
				t.Fatal(err)
			}
			awaitState(t, "airlock run", file, "T")
			w.await("Stopped")
			w.say("clear; echo between", "between")
			w.awaitPrompt(prompt)
			w.resize(70, 20)
			w.enter("fg")
			awaitState(t, "airlock run", file, "S+")
			w.await("written")
			w.awaitScreen("the screen is not drawn anew", func(screen string) bool {
				return strings.Count(screen, "\n~") >= 15 && !strings.Contains(screen, "between")
			})
		}
		w.enter(":wq")
		w.awaitPrompt(prompt)
		w.asBefore()
	})
}

// TestBackground: a command with a terminal that is started in the background
// waits to be brought to the foreground, and can be ended there.
func TestBackground(t *testing.T) {
	t.Parallel()
	require(t)
	everyWay(t, func(t *testing.T, run string) {
		w := open(t)
		w.remember()
		for _, end := range []string{"", "kill %1"} {
			sleep := nap()
			w.enter(run + " sh -c 'stty size; exec " + sleep + "' &")
			awaitState(t, "airlock run", sleep, "T")
			w.awaitNotice("Stopped")
			w.clear(prompt)
			if end == "" {
				w.enter("fg")
				w.await("24 80\n")
				awaitState(t, "airlock run", sleep, "S+")
				w.press("C-c")
				w.awaitPrompt(prompt)
				w.say("echo status $?", "status 130")
			} else {
				w.enter(end)
				awaitGone(t, "airlock run", sleep)
				w.awaitNotice("Terminated")
			}
			w.clear(prompt)
			awaitGone(t, sleep, "")
		}
		w.asBefore()
	})
}

// TestBackgroundLater: the same for one that was stopped from outside, when its
// command runs already.
func TestBackgroundLater(t *testing.T) {
	t.Parallel()
	require(t)
	everyWay(t, func(t *testing.T, run string) {
		w := open(t)
		w.remember()
		sleep := nap()
		w.enter(run + " " + sleep)
		awaitState(t, sleep, "", "S")
		airlock := awaitState(t, "airlock run", sleep, "S+")
		if err := syscall.Kill(airlock, syscall.SIGTSTP); err != nil {
			t.Fatal(err)
		}
		w.await("Stopped")
		w.clear(prompt)
		for range 2 {
			w.enter("bg")
			w.say("echo between", "between")
			awaitState(t, "airlock run", sleep, "T")
			w.clear(prompt)
		}
		w.enter("kill %1")
		awaitGone(t, "airlock run", sleep)
		awaitGone(t, sleep, "")
		w.awaitNotice("143")
		w.clear(prompt)
		w.asBefore()
	})
}

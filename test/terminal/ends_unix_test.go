//go:build unix

package terminal

import (
	"strings"
	"syscall"
	"testing"
)

// TestRestart: a daemon that is killed and comes back at the same place does not
// know the command any more; the user learns it at once.
func TestRestart(t *testing.T) {
	t.Parallel()
	require(t, "vim")
	w := open(t)
	w.remember()
	d := serve(t, "ws://127.0.0.1:0")
	w.enter("airlock run -t --url " + d.url + " --cwd $PWD " + vim + " --cmd 'set mouse=a' file")
	w.awaitAlternate(true)
	w.await(`"file" [New`)
	d.end(syscall.SIGKILL)
	serve(t, d.url)
	w.await("airlock: the command is gone: the executor has been restarted")
	w.awaitPrompt(prompt)
	w.say("echo status $?", "status 125")
	w.clear(prompt)
	w.asBefore()
}

// TestShutdown: a daemon that ends as it should ends the command.
func TestShutdown(t *testing.T) {
	t.Parallel()
	require(t)
	w := open(t)
	w.remember()
	d := serve(t, "ws://127.0.0.1:0")
	sleep := nap()
	w.enter("airlock run -t --url " + d.url + " --cwd $PWD " + sleep)
	awaitState(t, sleep, "", "S")
	d.end(syscall.SIGTERM)
	w.await("airlock: the command is lost")
	w.awaitPrompt(prompt)
	w.say("echo status $?", "status 125")
	awaitGone(t, sleep, "")
	w.clear(prompt)
	w.asBefore()
}

// TestGivenUp: while the daemon is gone and may come back, Ctrl-C is for us.
func TestGivenUp(t *testing.T) {
	t.Parallel()
	require(t)
	w := open(t)
	w.remember()
	d := serve(t, "ws://127.0.0.1:0")
	sleep := nap()
	w.enter("airlock run -t --url " + d.url + " --cwd $PWD " + sleep)
	awaitState(t, sleep, "", "S")
	d.end(syscall.SIGKILL)
	w.await("airlock: the connection is lost; trying to get it back; Ctrl-C gives up")
	w.keys("some keys are ahead of it")
	w.press("C-c")
	w.awaitPrompt(prompt)
	w.say("echo status $?", "status 130")
	w.clear(prompt)
	w.asBefore()
}

// TestTerminated: a signal from outside ends the command, which may say goodbye,
// and the terminal is as before.
func TestTerminated(t *testing.T) {
	t.Parallel()
	require(t, "vim")
	everyWay(t, func(t *testing.T, run string) {
		w := open(t)
		w.remember()
		for signal, status := range map[syscall.Signal]string{syscall.SIGTERM: "143", syscall.SIGHUP: "129"} {
			file := "file" + strings.TrimPrefix(nap(), "sleep ")
			w.enter(run + " " + vim + " " + file)
			w.awaitAlternate(true)
			w.await(`"` + file + `" [New`)
			airlock := awaitState(t, "airlock run", file, "S+")
			if err := syscall.Kill(airlock, signal); err != nil {
				t.Fatal(err)
			}
			awaitGone(t, "airlock run", file)
			w.awaitPrompt(prompt)
			w.say("echo status $?", "status "+status)
			w.clear(prompt)
			awaitGone(t, "vim", file)
			w.asBefore()
		}
	})
}

// TestHangup: when the window is closed nothing of the command is left, not even
// a shell, which does not care about SIGTERM.
func TestHangup(t *testing.T) {
	t.Parallel()
	require(t)
	everyWay(t, func(t *testing.T, run string) {
		w := open(t)
		sleep := nap()
		w.enter(run + " bash -i -c '" + sleep + "; " + sleep + "'")
		awaitState(t, sleep, "", "S")
		w.tmux("kill-server")
		awaitGone(t, "airlock run", sleep+"; "+sleep)
		awaitGone(t, "bash", sleep)
		awaitGone(t, sleep, "")
	})
}

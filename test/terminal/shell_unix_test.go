//go:build unix

package terminal

import (
	"strings"
	"testing"
)

const innerPrompt = "inner> "

// shell starts an interactive shell in the command's terminal.
func shell(w *window, run string) {
	w.t.Helper()
	w.enter(run + " -e 'PS1=" + innerPrompt + "' -- bash --norc --noprofile -i")
	w.awaitPrompt(innerPrompt)
	w.clear(innerPrompt)
}

func TestShell(t *testing.T) {
	t.Parallel()
	require(t)
	everyWay(t, func(t *testing.T, run string) {
		w := open(t)
		w.remember()
		shell(w, run)

		// Colours get through, and so does the kind of the terminal.
		w.say(`printf '\033[31mred\033[0m \033[1;44mbold\033[0m\n'`, "red bold")
		if screen := w.colours(); !strings.Contains(screen, "\x1b[31mred") || !strings.Contains(screen, "\x1b[44mbold") {
			t.Errorf("there are no colours on the screen: %q", screen)
		}
		w.say("echo kind $TERM", "kind screen-256color")

		// Lines are edited, also where characters are two cells wide.
		w.keys("echo 世!界")
		w.press("Left", "BSpace", "End")
		w.say(".", "世界.")
		w.clear(innerPrompt)
		w.press("Up", "BSpace")
		w.say("?", "世界?")

		// The size is that of the window, from the start and later.
		w.say("stty size", "24 80")
		w.resize(91, 33)
		await(t, func() string {
			w.clear(innerPrompt)
			w.say("stty size; echo sized", "sized")
			if !strings.Contains(w.screen(), "\n33 91\n") {
				return "the size has not changed: " + w.screen()
			}
			return ""
		})

		// Ctrl-D ends the shell.
		w.clear(innerPrompt)
		w.press("C-d")
		w.awaitPrompt(prompt)
		w.asBefore()
	})
}

// TestShellJobs: the jobs of a shell in the command's terminal are stopped and go
// on by keys.
func TestShellJobs(t *testing.T) {
	t.Parallel()
	require(t, "vim")
	everyWay(t, func(t *testing.T, run string) {
		w := open(t)
		w.remember()
		shell(w, run)

		sleep := nap()
		w.enter(sleep)
		awaitState(t, sleep, "", "S+")
		w.press("C-c")
		w.awaitPrompt(innerPrompt)
		w.say("echo status $?", "status 130")

		w.clear(innerPrompt)
		w.enter(sleep)
		awaitState(t, sleep, "", "S+")
		w.press("C-z")
		w.await("Stopped")
		awaitState(t, sleep, "", "T")
		w.clear(innerPrompt)
		w.say("jobs | sed 's/  */ /g'", "[1]+ Stopped "+sleep)
		w.enter("fg")
		awaitState(t, sleep, "", "S+")
		w.press("C-c")
		w.awaitPrompt(innerPrompt)
		w.say("echo status $?", "status 130")
		awaitGone(t, sleep, "")

		w.clear(innerPrompt)
		w.enter(vim + " file")
		w.awaitAlternate(true)
		w.await(`"file" [New`)
		w.keys("iwritten")
		w.press("Escape")
		w.await("written")
		w.awaitNo("-- INSERT --")
		w.press("C-z")
		w.awaitAlternate(false)
		w.await("Stopped")
		w.say("echo between", "between")
		w.enter("fg")
		w.awaitAlternate(true)
		w.await("written")
		w.enter(":wq")
		w.awaitAlternate(false)
		w.say("cat file", "written")

		w.clear(innerPrompt)
		w.enter("exit 3")
		w.awaitPrompt(prompt)
		w.say("echo status $?", "status 3")
		w.clear(prompt)
		w.asBefore()
	})
}

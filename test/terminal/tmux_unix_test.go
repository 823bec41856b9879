//go:build unix

package terminal

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
)

// window is a terminal with a shell in it.
type window struct {
	t      *testing.T
	socket string // the name of its tmux
	dir    string // where the shell is
}

var windows atomic.Int64

// prompt is that of the window's shell.
const prompt = "outer> "

// open opens a window of 80 columns and 24 rows.
func open(t *testing.T) *window {
	t.Helper()
	w := &window{t: t, socket: "w" + strconv.FormatInt(windows.Add(1), 10), dir: t.TempDir()}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the screen at the end:\n%s", w.screen())
		}
		_, _ = w.command("kill-server").CombinedOutput()
	})
	w.tmux("new-session", "-d", "-x", "80", "-y", "24", "-c", w.dir,
		"env", "PS1="+prompt, "PS0=", "HISTFILE=", "bash", "--norc", "--noprofile")
	w.awaitPrompt(prompt)
	return w
}

func (w *window) command(args ...string) *exec.Cmd {
	// Not by the test's context, which is over when its windows are closed.
	cmd := exec.Command("tmux", append([]string{"-L", w.socket, "-f", filepath.Join(folder, "tmux.conf")}, args...)...)
	cmd.Env = environment()
	return cmd
}

func (w *window) tmux(args ...string) string {
	w.t.Helper()
	out, err := w.command(args...).CombinedOutput()
	if err != nil {
		w.t.Fatalf("tmux %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// keys types a text as it is.
func (w *window) keys(text string) {
	w.t.Helper()
	w.tmux("send-keys", "-l", "--", text)
}

// press presses keys by their names, as C-c.
func (w *window) press(names ...string) {
	w.t.Helper()
	w.tmux(append([]string{"send-keys"}, names...)...)
}

// enter types a line.
func (w *window) enter(line string) {
	w.t.Helper()
	w.keys(line)
	w.press("Enter")
}

// screen returns the text on the screen, without empty lines at the end.
func (w *window) screen() string {
	out, _ := w.command("capture-pane", "-p").CombinedOutput()
	return strings.TrimRight(string(out), "\n ") + "\n"
}

// colours returns the text with its attributes as escape sequences.
func (w *window) colours() string { return w.tmux("capture-pane", "-p", "-e") }

// is tells whether a flag of the pane is set.
func (w *window) is(flag string) bool {
	return strings.TrimSpace(w.tmux("display-message", "-p", "#{"+flag+"}")) == "1"
}

// resize changes the size of the window.
func (w *window) resize(cols, rows int) {
	w.t.Helper()
	w.tmux("resize-window", "-x", strconv.Itoa(cols), "-y", strconv.Itoa(rows))
}

// await waits until a text is on the screen.
func (w *window) await(text string) {
	w.t.Helper()
	w.awaitScreen(fmt.Sprintf("there is no %q", text), func(screen string) bool { return strings.Contains(screen, text) })
}

// awaitPrompt waits until a shell waits for a line: behind what was on the line
// before, perhaps.
func (w *window) awaitPrompt(prompt string) {
	w.t.Helper()
	w.awaitScreen(fmt.Sprintf("the last line does not end with %q", prompt), func(screen string) bool {
		return strings.HasSuffix(screen, strings.TrimSpace(prompt)+"\n")
	})
}

// awaitNo waits until a text is not on the screen.
func (w *window) awaitNo(text string) {
	w.t.Helper()
	w.awaitScreen(fmt.Sprintf("there still is %q", text), func(screen string) bool { return !strings.Contains(screen, text) })
}

// awaitScreen waits until a condition holds for the screen; wrong says what is
// otherwise.
func (w *window) awaitScreen(wrong string, holds func(screen string) bool) {
	w.t.Helper()
	await(w.t, func() string {
		if screen := w.screen(); !holds(screen) {
			return wrong + " on the screen:\n" + screen
		}
		return ""
	})
}

// awaitAlternate waits until the window shows the alternate screen, or not.
func (w *window) awaitAlternate(want bool) {
	w.t.Helper()
	await(w.t, func() string {
		if w.is("alternate_on") != want {
			return fmt.Sprintf("alternate screen: %t, screen:\n%s", !want, w.screen())
		}
		return ""
	})
}

// awaitNotice waits until the shell tells something about a job, which it does
// before it prompts: perhaps for many lines at once.
func (w *window) awaitNotice(text string) {
	w.t.Helper()
	await(w.t, func() string {
		screen := strings.TrimRight(w.tmux("capture-pane", "-p", "-S", "-"), "\n ")
		if strings.Contains(screen, text) {
			return ""
		}
		w.press("Enter")
		return fmt.Sprintf("there is no %q on the screen, or above it:\n%s", text, screen)
	})
}

// clear empties the screen, so that nothing on it is from before.
func (w *window) clear(prompt string) {
	w.t.Helper()
	w.press("C-l")
	w.awaitScreen("there is more than a prompt", func(screen string) bool {
		return strings.TrimSpace(screen) == strings.TrimSpace(prompt)
	})
	w.tmux("clear-history")
}

// say has the shell print a word and waits for it, so that what was typed before
// has been dealt with.
func (w *window) say(line, want string) {
	w.t.Helper()
	w.enter(line)
	w.awaitScreen(fmt.Sprintf("no line is %q", want), func(screen string) bool {
		for text := range strings.Lines(screen) {
			if strings.TrimRight(text, " \n") == want {
				return true
			}
		}
		return false
	})
}

// remember notes how the terminal is set up; asBefore asserts that it is again,
// and that nothing of a program is left on it.
func (w *window) remember() {
	w.t.Helper()
	w.say("stty -g >before; echo noted", "noted")
	w.clear(prompt)
}

func (w *window) asBefore() {
	w.t.Helper()
	w.awaitAlternate(false)
	w.say("stty -g >after; cmp before after && echo as before", "as before")
	for _, flag := range []string{"mouse_any_flag", "keypad_cursor_flag", "keypad_flag", "insert_flag"} {
		if w.is(flag) {
			w.t.Errorf("%s is set in the terminal", flag)
		}
	}
	if !w.is("cursor_flag") {
		w.t.Error("the cursor is hidden")
	}
}

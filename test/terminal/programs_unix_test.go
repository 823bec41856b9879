//go:build unix

package terminal

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// vim is without the user's settings, and with colours.
const vim = `vim -u NONE -i NONE -n -N --cmd 'set notitle' --cmd 'syntax on'`

func TestVim(t *testing.T) {
	t.Parallel()
	require(t, "vim")
	everyWay(t, func(t *testing.T, run string) {
		w := open(t)
		w.remember()
		w.enter(run + " " + vim + " program.go")
		w.awaitAlternate(true)
		w.await(`"program.go" [New`)
		w.keys("ipackage main // 世界 é")
		w.press("Enter")
		w.keys("var answer = 42")
		w.press("Escape")
		w.await("var answer = 42")
		w.awaitNo("-- INSERT --")
		await(t, func() string {
			if screen := w.colours(); !regexp.MustCompile(`\x1b\[[0-9;]*3[0-9][0-9;]*mpackage`).MatchString(screen) {
				return "the keyword has no colour: " + strconv.Quote(screen)
			}
			return ""
		})
		w.resize(100, 30)
		w.awaitScreen("the screen is not drawn anew", func(screen string) bool {
			return strings.Count(screen, "\n~") >= 26
		})
		w.enter(":echo 'now' &lines 'by' &columns")
		w.await("now 30 by 100")
		w.enter(":wq")
		w.awaitPrompt(prompt)
		w.asBefore()
		got, err := os.ReadFile(filepath.Join(w.dir, "program.go"))
		if want := "package main // 世界 é\nvar answer = 42\n"; err != nil || string(got) != want {
			t.Errorf("the file has %q (%v), want %q", got, err, want)
		}
	})
}

func TestLess(t *testing.T) {
	t.Parallel()
	require(t, "less")
	everyWay(t, func(t *testing.T, run string) {
		w := open(t)
		w.remember()
		w.say("seq -f 'line %g' 900 >text; echo made", "made")
		w.enter(run + " less text")
		w.awaitAlternate(true)
		w.await("line 1\n")
		w.press("Space")
		w.await("line 30\n")
		w.enter("/line 321")
		w.await("\nline 322\n")
		w.resize(60, 40)
		w.await("line 355\n")
		w.keys("G")
		w.await("line 900\n")
		w.keys("q")
		w.awaitPrompt(prompt)
		w.asBefore()
	})
}

func TestHtop(t *testing.T) {
	t.Parallel()
	require(t, "htop")
	everyWay(t, func(t *testing.T, run string) {
		w := open(t)
		w.remember()
		w.enter(run + " htop")
		w.awaitAlternate(true)
		header := regexp.MustCompile(`(?m)^ *PID.*USER.*CPU%.*Command`)
		w.awaitScreen("htop has no header", header.MatchString)
		w.await("F10Quit")
		w.resize(120, 35)
		w.awaitScreen("htop does not use the new size", func(screen string) bool {
			lines := strings.Split(screen, "\n")
			return header.MatchString(screen) && len(lines) >= 35 && strings.Contains(lines[34], "F10Quit")
		})
		w.keys("q")
		w.awaitPrompt(prompt)
		w.asBefore()
	})
}

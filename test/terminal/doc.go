// Package terminal holds the tests of `airlock run` in a terminal as people use
// it: editors, pagers and shells run in it, within tmux, which tells what is on
// the screen. Each runs both in an executor of its own and in a daemon. They need
// tmux, vim, htop and less (on Debian: apt-get install tmux vim htop less), and
// are skipped where one is missing, unless AIRLOCK_REQUIRE_TUI is 1.
package terminal

//go:build !windows

package environ

import (
	"bufio"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// LoginShell returns the login shell of this program's user, from the account
// database: what SHELL says may be anything. Where the database has none it is
// /bin/sh.
func LoginShell() string {
	if accounts, err := os.Open("/etc/passwd"); err == nil {
		defer func() { _ = accounts.Close() }()
		if shell := shellOf(accounts, os.Getuid()); shell != "" {
			return shell
		}
	}
	// Accounts of people are kept elsewhere on macOS.
	if shell := os.Getenv("SHELL"); runtime.GOOS == "darwin" && strings.HasPrefix(shell, "/") {
		return shell
	}
	return "/bin/sh"
}

// shellOf returns the shell of a user in a file of the form of /etc/passwd, or
// nothing. The first entry of a user counts.
func shellOf(accounts io.Reader, uid int) string {
	lines := bufio.NewScanner(accounts)
	for lines.Scan() {
		// name:password:uid:gid:comment:home:shell
		fields := strings.Split(lines.Text(), ":")
		if len(fields) == 7 && fields[2] == strconv.Itoa(uid) {
			return strings.TrimSpace(fields[6])
		}
	}
	return ""
}

package environ

import "os"

// LoginShell returns the command interpreter of this program's user.
func LoginShell() string {
	if shell := os.Getenv("COMSPEC"); shell != "" {
		return shell
	}
	return `C:\Windows\System32\cmd.exe`
}

package agent

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
)

// marked returns the processes that have a variable in their environment, each
// with its command line.
func marked(variable string) []string {
	var found []string
	folders, _ := filepath.Glob("/proc/[0-9]*")
	for _, folder := range folders {
		// Processes end while we look: what can't be read is not there.
		environment, _ := os.ReadFile(filepath.Join(folder, "environ"))
		if !bytes.Contains(environment, append([]byte(variable), 0)) {
			continue
		}
		line, _ := os.ReadFile(filepath.Join(folder, "cmdline"))
		found = append(found, filepath.Base(folder)+" "+strings.ReplaceAll(string(line), "\x00", " "))
	}
	return found
}

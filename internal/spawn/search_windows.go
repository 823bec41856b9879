package spawn

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// search returns the file that program means: relative to dir if it has a
// separator, else in a folder of PATH; with an extension of PATHEXT if it has
// none of its own.
func search(program, dir string, env []string) (string, error) {
	extensions := []string{""}
	if filepath.Ext(program) == "" {
		extensions = strings.Split(lookup(env, "PATHEXT", ".COM;.EXE;.BAT;.CMD"), ";")
	}
	folders := []string{""}
	if !strings.ContainsAny(program, `:\/`) {
		folders = filepath.SplitList(lookup(env, "PATH", ""))
	}
	for _, folder := range folders {
		path := filepath.Join(folder, program)
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		for _, extension := range extensions {
			if info, err := os.Stat(path + extension); err == nil && !info.IsDir() {
				return path + extension, nil
			}
		}
	}
	return "", asOSError(syscall.ERROR_FILE_NOT_FOUND)
}

// lookup returns the value of a variable, whose name is in any case.
func lookup(env []string, name, otherwise string) string {
	for _, entry := range env {
		if key, value, ok := strings.Cut(entry, "="); ok && strings.EqualFold(key, name) {
			return value
		}
	}
	return otherwise
}

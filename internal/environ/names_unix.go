//go:build !windows

package environ

// foldNames tells whether names that differ in case only are the same.
const foldNames = false

// coreNames are what programs commonly need, in upper case.
var coreNames = map[string]bool{
	"PATH": true, "SHELL": true, "TMPDIR": true, "TEMP": true, "TMP": true, "HOME": true,
	"LANG": true, "LC_ALL": true, "LC_CTYPE": true, "LOGNAME": true, "USER": true,
}

// addPlatformDefaults adds what an inherited environment can't do without.
func (variables) addPlatformDefaults() {}

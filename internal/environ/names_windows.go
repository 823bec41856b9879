package environ

import "strings"

// foldNames tells whether names that differ in case only are the same.
const foldNames = true

// coreNames are what programs commonly need, in upper case.
var coreNames = map[string]bool{
	"PATH": true, "PATHEXT": true, "SHELL": true, "COMSPEC": true, "SYSTEMROOT": true,
	"WINDIR": true, "SYSTEMDRIVE": true, "USERNAME": true, "USERDOMAIN": true,
	"USERPROFILE": true, "HOMEDRIVE": true, "HOMEPATH": true, "PROGRAMFILES": true,
	"PROGRAMFILES(X86)": true, "PROGRAMW6432": true, "PROGRAMDATA": true,
	"LOCALAPPDATA": true, "APPDATA": true, "TEMP": true, "TMP": true, "TMPDIR": true,
	"POWERSHELL": true, "PWSH": true,
}

// addPlatformDefaults adds what an inherited environment can't do without.
func (v variables) addPlatformDefaults() {
	for name := range v {
		if strings.EqualFold(name, "PATHEXT") {
			return
		}
	}
	v["PATHEXT"] = ".COM;.EXE;.BAT;.CMD"
}

package files

import (
	"strings"
	"unicode/utf8"
)

// lossy returns a name with U+FFFD in place of what is not UTF-8: one for each
// byte, or for several that are the beginning of a character.
func lossy(name string) string {
	if utf8.ValidString(name) {
		return name
	}
	var b strings.Builder
	for name != "" {
		char, size := utf8.DecodeRuneInString(name)
		if char == utf8.RuneError && size == 1 {
			for size < len(name) && !utf8.FullRuneInString(name[:size+1]) {
				size++
			}
		}
		b.WriteRune(char)
		name = name[size:]
	}
	return b.String()
}

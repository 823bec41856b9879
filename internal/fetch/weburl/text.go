package weburl

import "strings"

var dropBreaks = strings.NewReplacer("\t", "", "\n", "", "\r", "")

// clean takes away what does not count wherever it stands.
func clean(text string) string {
	text = strings.TrimFunc(text, func(r rune) bool { return r <= ' ' })
	return dropBreaks.Replace(text)
}

// cutScheme takes the scheme off a text, if there is one.
func cutScheme(text string) (scheme, rest string, ok bool) {
	scheme, rest, ok = strings.Cut(text, ":")
	if !ok || scheme == "" {
		return "", "", false
	}
	for i := range len(scheme) {
		switch c := scheme[i] | 0x20; {
		case c >= 'a' && c <= 'z':
		case i > 0 && (scheme[i] >= '0' && scheme[i] <= '9' || strings.IndexByte("+-.", scheme[i]) >= 0):
		default:
			return "", "", false
		}
	}
	return strings.ToLower(scheme), rest, true
}

// slashes counts the slashes, of either kind, that a text begins with.
func slashes(text string) int {
	return len(text) - len(strings.TrimLeft(text, `/\`))
}

// normalPath resolves the dots of a path, which is given without its first
// slash, and encodes it.
func normalPath(path string) string {
	var kept []string
	for last := false; !last; {
		segment := path
		if end := strings.IndexAny(path, `/\`); end >= 0 {
			segment, path = path[:end], path[end+1:]
		} else {
			last = true
		}
		switch dots(segment) {
		case 2:
			kept = kept[:max(0, len(kept)-1)]
			fallthrough
		case 1:
			if last {
				kept = append(kept, "")
			}
		default:
			kept = append(kept, encode(segment, inPath))
		}
	}
	return "/" + strings.Join(kept, "/")
}

// dots returns how many dots, encoded or not, a segment consists of, or 0 if of
// other things or more.
func dots(segment string) int {
	const longest = len("%2e%2e")
	if len(segment) > longest {
		return 0
	}
	switch strings.ReplaceAll(strings.ToLower(segment), "%2e", ".") {
	case ".":
		return 1
	case "..":
		return 2
	}
	return 0
}

// What is encoded where, beside controls and all that is not ASCII.
const (
	inPath     = " \"#<>?`{}"
	inQuery    = " \"#<>'"
	inFragment = " \"<>`"
)

// encode percent-encodes a text. What is encoded already stays so.
func encode(text, special string) string {
	const digits = "0123456789ABCDEF"
	var out strings.Builder
	for _, c := range []byte(text) {
		if c >= ' ' && c < 0x7f && strings.IndexByte(special, c) < 0 {
			out.WriteByte(c)
			continue
		}
		out.WriteByte('%')
		out.WriteByte(digits[c>>4])
		out.WriteByte(digits[c&15])
	}
	return out.String()
}

// decode resolves what is percent-encoded, and leaves what only looks so.
func decode(text string) string {
	if !strings.Contains(text, "%") {
		return text
	}
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		if text[i] == '%' && i+2 < len(text) {
			high, low := hexDigit(text[i+1]), hexDigit(text[i+2])
			if high >= 0 && low >= 0 {
				out = append(out, byte(high<<4|low))
				i += 2
				continue
			}
		}
		out = append(out, text[i])
	}
	return string(out)
}

// hexDigit returns the value of a digit, or -1.
func hexDigit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}

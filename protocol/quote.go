package protocol

import "unicode/utf8"

// How much of a peer's text an error may repeat, in bytes: enough to recognise
// it, not enough to make errors large.
const (
	maxQuoted     = 100
	maxQuotedPath = 4096
)

// shorten cuts s to at most limit bytes, between characters.
func shorten(s string, limit int) string {
	const mark = "…"
	if len(s) <= limit {
		return s
	}
	end := limit - len(mark)
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + mark
}

package protocol

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

var (
	errOpaque   = errors.New("has no parts")
	errNULName  = errors.New("contains a NUL byte")
	errAbsolute = errors.New("is absolute")
)

// Join returns the path that a relative one leads to from here. Its parts stand
// between slashes, and are names, but for "", "." and "..": nothing is above the
// root.
func (p PathURI) Join(relative string) (PathURI, error) {
	switch {
	case strings.HasPrefix(relative, "/"):
		return PathURI{}, fmt.Errorf("path %q %w", shorten(relative, maxQuotedPath), errAbsolute)
	case strings.IndexByte(relative, 0) >= 0:
		return PathURI{}, fmt.Errorf("path %q %w", shorten(relative, maxQuotedPath), errNULName)
	case strings.HasPrefix(p.s, opaquePrefix), p.s == "":
		return PathURI{}, fmt.Errorf("path URI %q %w to be joined with others", shorten(p.s, maxQuotedPath), errOpaque)
	}
	joined := strings.TrimRight(p.s[len(fileScheme):], "/")
	for part := range strings.SplitSeq(relative, "/") {
		if part != "" {
			joined += "/" + percentEncode(part, true)
		}
	}
	if !strings.Contains(joined, "/") {
		joined += "/"
	}
	return ParsePathURI(fileScheme + joined)
}

// Base returns the last name of the path, or "" if it has none: it is a root, say.
// Of what is not UTF-8 the URI's own spelling is returned.
func (p PathURI) Base() string {
	_, path := p.split()
	path = strings.TrimRight(path, "/")
	encoded := path[strings.LastIndexByte(path, '/')+1:]
	if strings.HasPrefix(p.s, opaquePrefix) || driveOf(path) != "" && strings.Count(path, "/") == 1 {
		return ""
	}
	if name := percentDecode(encoded); utf8.ValidString(name) {
		return name
	}
	return encoded
}

// Parent returns the directory that the path is in. It reports false if there is
// none.
func (p PathURI) Parent() (PathURI, bool) {
	host, path := p.split()
	path = strings.TrimRight(path, "/")
	cut := strings.LastIndexByte(path, '/')
	root := driveOf(path) != "" || host != "" // a drive and a share are roots
	if cut < 0 || strings.HasPrefix(p.s, opaquePrefix) || root && cut == 0 {
		return PathURI{}, false
	}
	parent := strings.TrimRight(path[:cut], "/")
	return PathURI{fileScheme + host + parent + strings.Repeat("/", max(0, 1-len(parent)))}, true
}

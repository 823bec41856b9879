package protocol

import (
	"encoding/base64"
	"errors"
	"fmt"
	"path"
	"runtime"
	"strings"
	"unicode/utf8"
)

var (
	errRelative = errors.New("is not absolute")
	errNoURI    = errors.New("can't be written as a path URI")
	errNUL      = errors.New("file name contained an unexpected NUL byte") // clients know this text
)

// PathURIFromNative returns the URI of an absolute path of this OS. Dot
// segments are resolved by their names.
func PathURIFromNative(native string) (PathURI, error) {
	if strings.IndexByte(native, 0) >= 0 {
		return PathURI{}, fmt.Errorf("path %q contains a NUL byte", shorten(native, maxQuotedPath))
	}
	uriOf := unixURI
	if runtime.GOOS == "windows" {
		uriOf = windowsURI
	}
	p, err := uriOf(native)
	if err != nil {
		return PathURI{}, fmt.Errorf("path %q %w", shorten(native, maxQuotedPath), err)
	}
	return p, nil
}

// Native returns the path on this OS, without dot segments and trailing
// slashes. It fails if p names none, as a drive does on Unix, or a path without
// one on Windows.
func (p PathURI) Native() (string, error) {
	nativePath := PathURI.unixPath
	if runtime.GOOS == "windows" {
		nativePath = PathURI.windowsPath
	}
	native, ok := nativePath(p)
	switch {
	case ok:
		return native, nil
	case p.containsNUL():
		return "", errNUL
	}
	return "", p.invalid()
}

// invalid is the error for a URI that names no path of this OS.
func (p PathURI) invalid() error {
	os := runtime.GOOS
	if os == "darwin" {
		os = "macos"
	}
	return fmt.Errorf("'%s' is invalid on '%s'", shorten(p.s, maxQuotedPath), os)
}

// split returns the host and the path, both as they stand in the URI.
func (p PathURI) split() (host, path string) {
	rest := strings.TrimPrefix(p.s, fileScheme)
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		return rest[:i], rest[i:]
	}
	return rest, ""
}

func (p PathURI) unixPath() (string, bool) {
	if native, ok := p.opaque(); ok {
		// Only for what can't be said plainly, or a path would have two names.
		plain, err := unixURI(native)
		return native, err == nil && plain == p && !p.containsNUL()
	}
	host, rest := p.split()
	if host != "" || rest == "" || driveOf(rest) != "" {
		return "", false
	}
	return path.Clean(percentDecode(rest)), true
}

func unixURI(native string) (PathURI, error) {
	if !strings.HasPrefix(native, "/") {
		return PathURI{}, errRelative
	}
	native = path.Clean(native)
	encoded := percentEncode(native, true)
	if driveOf(encoded) != "" {
		return opaqueURI(native), nil
	}
	return PathURI{fileScheme + encoded}, nil
}

func (p PathURI) windowsPath() (string, bool) {
	host, rest := p.split()
	decoded := strings.ReplaceAll(percentDecode(rest), `\`, "/")
	if strings.IndexByte(decoded, 0) >= 0 || !utf8.ValidString(decoded) {
		return "", false
	}
	volume := driveOf(rest)
	switch {
	case host == "" && volume != "":
		decoded = decoded[len("/c:"):]
	case host != "" && host != ".": // \\.\ is where devices are
		share, _, _ := strings.Cut(decoded[1:], "/")
		if countDots(share) > 0 || share == "" {
			return "", false
		}
		volume, decoded = `\\`+host+`\`+share, decoded[1+len(share):]
	default:
		return "", false
	}
	return volume + strings.ReplaceAll(path.Clean("/"+decoded), "/", `\`), true
}

func windowsURI(native string) (PathURI, error) {
	slashed := strings.ReplaceAll(native, `\`, "/")
	var text string
	if drive, rest, found := strings.Cut(slashed, "/"); found && isDrive(drive) {
		text = fileScheme + "/" + strings.ToUpper(drive) + percentEncode(path.Clean("/"+rest), true)
	} else if unc, found := strings.CutPrefix(slashed, "//"); found {
		host, rest, _ := strings.Cut(unc, "/")
		share, rest, _ := strings.Cut(rest, "/")
		text = fileScheme + strings.ToLower(host) + percentEncode("/"+share+path.Clean("/"+rest), true)
	} else {
		return PathURI{}, errRelative
	}
	p, err := ParsePathURI(text)
	if err != nil || p.s != text {
		return PathURI{}, errNoURI // a device path, for example
	}
	if _, ok := p.windowsPath(); !ok {
		return PathURI{}, errNoURI
	}
	return p, nil
}

// driveOf returns the drive with which the path of a canonical URI begins, or
// "".
func driveOf(path string) string {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	if len(first) == 4 && strings.EqualFold(first[1:], "%3a") {
		first = first[:1] + ":"
	}
	if !isDrive(first) || first[1] != ':' {
		return ""
	}
	return strings.ToUpper(first)
}

// opaquePrefix begins the URI of a path that can't be said plainly. A decoded
// NUL byte stands in no real path.
const opaquePrefix = fileScheme + "/%00/bad/path/"

func opaqueURI(native string) PathURI {
	return PathURI{opaquePrefix + base64.RawURLEncoding.EncodeToString([]byte(native))}
}

// opaque returns the path within an opaque URI.
func (p PathURI) opaque() (native string, ok bool) {
	encoded, found := strings.CutPrefix(p.s, opaquePrefix)
	if !found || encoded == "" {
		return "", false
	}
	decoded, err := base64.RawURLEncoding.Strict().DecodeString(encoded)
	return string(decoded), err == nil
}

// containsNUL tells whether p is the opaque URI of an absolute path that no system
// can have.
func (p PathURI) containsNUL() bool {
	native, ok := p.opaque()
	return ok && strings.HasPrefix(native, "/") && strings.IndexByte(native, 0) >= 0
}

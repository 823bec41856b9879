package main

import (
	"errors"
	"fmt"
	"net/url"
	"runtime"
	"strings"

	"github.com/airlock-exec/airlock/protocol"
)

// remotePath is a path of the executor's host, as it was typed and as it travels.
type remotePath struct {
	text string
	uri  protocol.PathURI
}

// path reads a path of the executor's host: an absolute one in that host's own
// spelling, one from the executor's working directory on, or a URI.
func (h *host) path(text string) (remotePath, error) {
	uri, err := parseRemote(h.info, text)
	if err != nil {
		return remotePath{}, &pathError{text, err}
	}
	return remotePath{text, uri}, nil
}

// pathError is what is wrong with a path that was typed.
type pathError struct {
	text string
	err  error
}

func (e *pathError) Error() string { return fmt.Sprintf("%s: %v", printable(e.text), e.err) }
func (e *pathError) Unwrap() error { return e.err }

var (
	errEmptyPath = errors.New("the path is empty")
	errNoCWD     = errors.New("the executor does not tell its working directory: give an absolute path")
)

// windowsOS is what executors on Windows call it.
const windowsOS = "windows"

func parseRemote(info *protocol.EnvironmentInfo, text string) (protocol.PathURI, error) {
	switch {
	case text == "":
		return protocol.PathURI{}, errEmptyPath
	case strings.HasPrefix(text, "file:"):
		return protocol.ParsePathURI(text)
	case info.PlatformOS == windowsOS:
		return parseWindows(info, strings.ReplaceAll(text, `\`, "/"))
	case strings.HasPrefix(text, "/") && runtime.GOOS != windowsOS:
		return protocol.PathURIFromNative(text)
	case strings.HasPrefix(text, "/"):
		return joinRoot("file:///", text)
	}
	return fromCWD(info, text)
}

// parseWindows reads a path of Windows, with slashes.
func parseWindows(info *protocol.EnvironmentInfo, text string) (protocol.PathURI, error) {
	if unc, ok := strings.CutPrefix(text, "//"); ok {
		server, rest, _ := strings.Cut(unc, "/")
		share, rest, _ := strings.Cut(rest, "/")
		return joinRoot("file://"+server+"/"+url.PathEscape(share), rest)
	}
	if len(text) >= 2 && text[1] == ':' {
		if !strings.HasPrefix(text[2:], "/") {
			return protocol.PathURI{}, errors.New("a backslash is missing behind the drive")
		}
		return joinRoot("file:///"+text[:2]+"/", text[2:])
	}
	if strings.HasPrefix(text, "/") {
		return protocol.PathURI{}, errors.New("the drive is missing")
	}
	return fromCWD(info, text)
}

func joinRoot(root, rest string) (protocol.PathURI, error) {
	uri, err := protocol.ParsePathURI(root)
	if err != nil {
		return protocol.PathURI{}, err
	}
	return join(uri, strings.TrimLeft(rest, "/"))
}

func fromCWD(info *protocol.EnvironmentInfo, text string) (protocol.PathURI, error) {
	if info.CWD == nil {
		return protocol.PathURI{}, errNoCWD
	}
	return join(*info.CWD, text)
}

// join is the method of the URI, but for a slash that dot segments leave at the end.
func join(uri protocol.PathURI, text string) (protocol.PathURI, error) {
	joined, err := uri.Join(text)
	if _, below := joined.Parent(); err != nil || !below {
		return joined, err
	}
	return protocol.ParsePathURI(strings.TrimRight(joined.String(), "/"))
}

// endsAsDirectory tells whether a path is spelled like one that is a directory.
func endsAsDirectory(text string) bool {
	return strings.HasSuffix(text, "/") || strings.HasSuffix(text, `\`) && !strings.HasPrefix(text, "/")
}

// native returns a path as the executor's host spells it, or the URI if that can't
// be told.
func (h *host) native(uri protocol.PathURI) string { return nativeText(h.info, uri) }

func nativeText(info *protocol.EnvironmentInfo, uri protocol.PathURI) string {
	if (info.PlatformOS == windowsOS) == (runtime.GOOS == windowsOS) {
		if text, err := uri.Native(); err == nil {
			return text
		}
		return uri.String()
	}
	text, err := url.PathUnescape(strings.TrimPrefix(uri.String(), "file://"))
	switch {
	case err != nil || strings.ContainsRune(text, 0):
		return uri.String()
	case info.PlatformOS != windowsOS:
		return text
	case len(text) == len("/C:"): // a drive, all of it
		return text[1:] + `\`
	case strings.HasPrefix(text, "/"): // in front of a drive
		drive, rest, _ := strings.Cut(text[1:], "/")
		return drive + `\` + strings.ReplaceAll(rest, "/", `\`)
	}
	return `\\` + strings.ReplaceAll(text, "/", `\`)
}

// below returns a path at or below one that was typed, in the way that was typed.
func (h *host) below(top remotePath, uri protocol.PathURI) string {
	rest, ok := strings.CutPrefix(uri.String(), strings.TrimSuffix(top.uri.String(), "/")+"/")
	switch {
	case uri == top.uri:
		return top.text
	case !ok || strings.HasPrefix(top.text, "file:"):
		return h.native(uri)
	}
	separator := "/"
	if h.info.PlatformOS == windowsOS {
		separator = `\`
	}
	if decoded, err := url.PathUnescape(rest); err == nil {
		rest = strings.ReplaceAll(decoded, "/", separator)
	}
	switch {
	case top.text == ".":
		return rest
	case endsAsDirectory(top.text):
		return top.text + rest
	}
	return top.text + separator + rest
}

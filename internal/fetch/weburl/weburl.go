// Package weburl reads URLs as web browsers do (the WHATWG URL standard), which
// is more forgiving than net/url, and leaves one spelling of each. Whoever judges
// where a URL leads needs that: http:\\0x7f.1 is http://127.0.0.1/.
package weburl

import (
	"errors"
	"net/netip"
	"strings"
)

// Errors of parsing, in the words that clients of the dialect know.
var (
	ErrRelative  = errors.New("relative URL without a base")
	ErrEmptyHost = errors.New("empty host")
	ErrPort      = errors.New("invalid port number")
	ErrIPv4      = errors.New("invalid IPv4 address")
	ErrIPv6      = errors.New("invalid IPv6 address")
	ErrDomain    = errors.New("invalid international domain name")
)

// URL is a URL in the one spelling that it has. Of one whose scheme is not known
// here there is only the scheme.
type URL struct {
	Scheme string // in lower case
	User   *User  // nil if there is none
	Host   Host
	// Port is in decimal, or empty if it is the scheme's own.
	Port     string
	Path     string // with its slash, percent-encoded
	Query    string // with its question mark, percent-encoded, or empty
	Fragment string // with its hash sign, percent-encoded, or empty
}

// User is who asks. Both are decoded.
type User struct{ Name, Password string }

// defaultPorts are those of the schemes that are parsed whole.
var defaultPorts = map[string]string{"http": "80", "https": "443", "ws": "80", "wss": "443", "ftp": "21"}

// Parse reads an absolute URL.
func Parse(text string) (*URL, error) {
	text = clean(text)
	scheme, rest, ok := cutScheme(text)
	if !ok {
		return nil, ErrRelative
	}
	return parseAbsolute(scheme, rest)
}

// Join reads a URL that may be relative to u. Who asks is not passed on.
func (u *URL) Join(text string) (*URL, error) {
	text = clean(text)
	scheme, rest, ok := cutScheme(text)
	if ok && (scheme != u.Scheme || slashes(rest) >= 2) {
		return parseAbsolute(scheme, rest)
	}
	if ok {
		text = rest
	}
	if slashes(text) >= 2 {
		return parseAbsolute(u.Scheme, text)
	}
	joined := &URL{Scheme: u.Scheme, Host: u.Host, Port: u.Port}
	path := joined.takeSuffix(text)
	switch {
	case path == "":
		joined.Path = u.Path
		if joined.Query == "" && !strings.HasPrefix(text, "?") {
			joined.Query = u.Query
		}
	case slashes(path) > 0:
		joined.Path = normalPath(path[1:])
	default:
		joined.Path = normalPath(u.Path[1:strings.LastIndexByte(u.Path, '/')+1] + path)
	}
	return joined, nil
}

// parseAbsolute reads what follows the scheme.
func parseAbsolute(scheme, rest string) (*URL, error) {
	u := &URL{Scheme: scheme}
	if defaultPorts[scheme] == "" {
		return u, nil
	}
	rest = strings.TrimLeft(rest, `/\`)
	end := strings.IndexAny(rest, `/\?#`)
	if end < 0 {
		end = len(rest)
	}
	if err := u.takeAuthority(rest[:end]); err != nil {
		return nil, err
	}
	path := u.takeSuffix(rest[end:])
	u.Path = normalPath(path[min(1, slashes(path)):])
	return u, nil
}

// takeAuthority reads who asks, the host and the port.
func (u *URL) takeAuthority(text string) error {
	if at := strings.LastIndexByte(text, '@'); at >= 0 {
		u.User = parseUser(text[:at])
		text = text[at+1:]
	}
	host, port := text, ""
	if colon := strings.LastIndexByte(text, ':'); colon > strings.LastIndexByte(text, ']') {
		host, port = text[:colon], text[colon+1:]
	}
	if host == "" {
		return ErrEmptyHost
	}
	var err error
	if u.Host, err = ParseHost(host); err != nil {
		return err
	}
	u.Port, err = parsePort(port, u.Scheme)
	return err
}

// takeSuffix takes query and fragment off a text and returns what is before.
func (u *URL) takeSuffix(text string) string {
	text, fragment, found := strings.Cut(text, "#")
	if found {
		u.Fragment = "#" + encode(fragment, inFragment)
	}
	text, query, found := strings.Cut(text, "?")
	if found {
		u.Query = "?" + encode(query, inQuery)
	}
	return text
}

func parseUser(text string) *User {
	name, password, _ := strings.Cut(text, ":")
	if name == "" && password == "" {
		return nil
	}
	return &User{Name: decode(name), Password: decode(password)}
}

func parsePort(text, scheme string) (string, error) {
	if text == "" {
		return "", nil
	}
	number := 0
	for _, digit := range []byte(text) {
		if digit < '0' || digit > '9' {
			return "", ErrPort
		}
		if number = number*10 + int(digit-'0'); number > 65535 {
			return "", ErrPort
		}
	}
	text = strings.TrimLeft(text, "0")
	if text == "" {
		text = "0"
	}
	if text == defaultPorts[scheme] {
		return "", nil
	}
	return text, nil
}

// Authority returns the host, and the port if it is not the scheme's own.
func (u *URL) Authority() string {
	if u.Port == "" {
		return u.Host.String()
	}
	return u.Host.String() + ":" + u.Port
}

// PortNumber returns the port in decimal, also if it is the scheme's own.
func (u *URL) PortNumber() string {
	if u.Port == "" {
		return defaultPorts[u.Scheme]
	}
	return u.Port
}

// Origin returns the root of what the URL belongs to.
func (u *URL) Origin() string { return u.Scheme + "://" + u.Authority() + "/" }

// String returns the URL, without who asks.
func (u *URL) String() string {
	return u.Scheme + "://" + u.Authority() + u.Path + u.Query + u.Fragment
}

// Host is a name in lower case and in ASCII, or an address.
type Host struct {
	Name string     // empty if it is an address
	Addr netip.Addr // without a zone
}

// String returns the host as it stands in a URL.
func (h Host) String() string {
	switch {
	case h.Name != "":
		return h.Name
	case h.Addr.Is6():
		return "[" + h.Addr.String() + "]"
	}
	return h.Addr.String()
}

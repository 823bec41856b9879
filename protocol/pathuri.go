package protocol

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
)

// PathURI is an absolute path in the form of a file URI. It can name a path of
// any OS, so that a client on one can speak of paths on another.
//
// Values are always in canonical form, and so compare equal if they are spelled
// alike. The zero value is no path at all.
type PathURI struct{ s string }

const fileScheme = "file://"

// Why a text is not a path URI. Clients know these texts.
var (
	errNoScheme = errors.New("invalid URI: relative URL without a base")
	errHost     = errors.New("invalid URI: invalid international domain name")
	errIPv6     = errors.New("invalid URI: invalid IPv6 address")
	errQuery    = errors.New("query parameters are not allowed in path URIs")
	errFragment = errors.New("fragments are not allowed in path URIs")
)

// ParsePathURI reads a file URI the way browsers do (WHATWG URL): blanks around
// it and tabs and newlines in it don't count, backslashes are slashes, dot
// segments are resolved, the host localhost is dropped, and what can't stand in
// a URI is percent-encoded. Empty segments at the root are dropped too.
//
// Host names must be ASCII; others are refused rather than converted.
func ParsePathURI(s string) (PathURI, error) {
	s = strings.TrimFunc(s, func(r rune) bool { return r <= ' ' })
	if strings.ContainsAny(s, "\t\n\r") {
		s = strings.NewReplacer("\t", "", "\n", "", "\r", "").Replace(s)
	}
	scheme, rest := cutScheme(s)
	switch scheme {
	case "file":
	case "":
		return PathURI{}, errNoScheme
	default:
		return PathURI{}, fmt.Errorf("unsupported path URI scheme `%s`", shorten(scheme, maxQuoted))
	}
	rest, _, fragment := strings.Cut(rest, "#")
	rest, _, query := strings.Cut(rest, "?")
	host, path, err := splitPath(strings.ReplaceAll(rest, `\`, "/"))
	switch {
	case err != nil:
		return PathURI{}, err
	case query:
		return PathURI{}, errQuery
	case fragment:
		return PathURI{}, errFragment
	}
	p := PathURI{fileScheme + host + path}
	if strings.Contains(path, "%00") {
		if _, ok := p.opaque(); !ok {
			return PathURI{}, p.invalid()
		}
	}
	return p, nil
}

// String returns the canonical form.
func (p PathURI) String() string { return p.s }

// MarshalText returns the canonical form.
func (p PathURI) MarshalText() ([]byte, error) { return []byte(p.s), nil }

// UnmarshalText reads what [ParsePathURI] reads.
func (p *PathURI) UnmarshalText(text []byte) error {
	parsed, err := ParsePathURI(string(text))
	if err == nil {
		*p = parsed
	}
	return err
}

// cutScheme splits a scheme off s, in lower case. It is "" if there is none.
func cutScheme(s string) (scheme, rest string) {
	for i := range len(s) {
		switch c := s[i]; {
		case isLetter(c):
		case i > 0 && ('0' <= c && c <= '9' || c == '+' || c == '-' || c == '.'):
		case i > 0 && c == ':':
			return strings.ToLower(s[:i]), s[i+1:]
		default:
			return "", s
		}
	}
	return "", s
}

// splitPath splits what follows the scheme into host and canonical path.
func splitPath(s string) (host, path string, err error) {
	// The spelling c| of a drive is known everywhere but after an empty host.
	pipes := true
	if rest, found := strings.CutPrefix(s, "//"); found {
		s = rest
		if name, _, _ := strings.Cut(s, "/"); !isDrive(name) {
			s = s[len(name):]
			if host, err = parseHost(name); err != nil {
				return "", "", err
			}
			pipes = host != ""
		}
	}
	path, drive := normalise(s, pipes)
	if drive {
		host = "" // a drive is local
	}
	return host, path, nil
}

// parseHost returns a host in canonical form, the local host as "".
func parseHost(s string) (string, error) {
	if inner, found := strings.CutPrefix(s, "["); found {
		inner, found = strings.CutSuffix(inner, "]")
		addr, err := netip.ParseAddr(inner)
		if !found || err != nil || !addr.Is6() || addr.Zone() != "" {
			return "", errIPv6
		}
		return "[" + addr.String() + "]", nil
	}
	host := strings.ToLower(percentDecode(s))
	for i := range len(host) {
		if c := host[i]; c <= ' ' || c >= 0x7f || strings.IndexByte(`#%/:<>?@[\]^|`, c) >= 0 {
			return "", errHost
		}
	}
	if host == "localhost" {
		host = ""
	}
	return host, nil
}

// normalise resolves the dot segments of path and encodes it. A drive letter
// becomes upper case, and c| is taken for c: if pipes is set.
func normalise(path string, pipes bool) (_ string, drive bool) {
	var kept []string
	segments := strings.Split(path, "/")
	for i, segment := range segments {
		if dots := countDots(segment); dots > 0 {
			// Nothing is above the root, nor above a drive.
			if n := len(kept); dots == 2 && (n > 1 || n == 1 && !isDrive(kept[0])) {
				kept = kept[:n-1]
			}
			if i < len(segments)-1 {
				continue
			}
			segment = ""
		}
		if len(kept) == 0 {
			switch {
			case segment == "":
				continue
			case isDrive(segment) && (pipes || segment[1] == ':'):
				segment = strings.ToUpper(segment[:1]) + ":"
				drive = true
			}
		}
		kept = append(kept, segment)
	}
	return percentEncode("/"+strings.Join(kept, "/"), false), drive
}

// countDots returns 1 for a segment that means this directory, 2 for one that
// means its parent, else 0. Dots may be percent-encoded.
func countDots(segment string) int {
	dots := 0
	for ; segment != ""; dots++ {
		switch {
		case segment[0] == '.':
			segment = segment[1:]
		case len(segment) >= 3 && strings.EqualFold(segment[:3], "%2e"):
			segment = segment[3:]
		default:
			return 0
		}
	}
	if dots > 2 {
		return 0
	}
	return dots
}

// isDrive tells whether s is a drive in one of its spellings, c: and c|.
func isDrive(s string) bool {
	return len(s) == 2 && isLetter(s[0]) && (s[1] == ':' || s[1] == '|')
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// AppendName appends the name of a file as it stands in a path URI.
func AppendName(dst []byte, name string) []byte { return appendEncoded(dst, name, encodeLiteral) }

// What is done with a byte in the path of a URI.
const (
	encodeAlways  = 1 << iota // it can't stand there
	encodeLiteral             // it would mean something else
)

var encodedBytes = func() (table [256]byte) {
	for c := range table {
		switch {
		case c <= ' ' || c >= 0x7f || strings.IndexByte("\"#<>?`{}", byte(c)) >= 0:
			table[c] = encodeAlways | encodeLiteral
		case c == '%' || c == '\\':
			table[c] = encodeLiteral
		}
	}
	return table
}()

// percentEncode encodes the bytes that can't stand in the path of a URI. It
// leaves alone what is encoded already, unless s is literal.
func percentEncode(s string, literal bool) string {
	which := byte(encodeAlways)
	if literal {
		which = encodeLiteral
	}
	for i := range len(s) {
		if encodedBytes[s[i]]&which != 0 {
			return string(appendEncoded(make([]byte, 0, len(s)+16), s, which))
		}
	}
	return s
}

func appendEncoded(dst []byte, s string, which byte) []byte {
	const digits = "0123456789ABCDEF"
	kept := 0
	for i := range len(s) {
		if c := s[i]; encodedBytes[c]&which != 0 {
			dst = append(dst, s[kept:i]...)
			dst = append(dst, '%', digits[c>>4], digits[c&15])
			kept = i + 1
		}
	}
	return append(dst, s[kept:]...)
}

// percentDecode decodes what is encoded. A percent sign that does not begin an
// escape stands for itself.
func percentDecode(s string) string {
	i := strings.IndexByte(s, '%')
	if i < 0 {
		return s
	}
	out := append(make([]byte, 0, len(s)), s[:i]...)
	for ; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if high, low := hexValue(s[i+1]), hexValue(s[i+2]); high >= 0 && low >= 0 {
				out = append(out, byte(high<<4|low))
				i += 2
				continue
			}
		}
		out = append(out, s[i])
	}
	return string(out)
}

// hexValue returns the value of a hex digit, or -1.
func hexValue(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}

package weburl

import (
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// ParseHost reads the host of a URL: a name, or an address in any of its
// spellings.
func ParseHost(text string) (Host, error) {
	if strings.HasPrefix(text, "[") {
		return parseIPv6(text)
	}
	name, err := toASCII(decode(text))
	if err != nil {
		return Host{}, err
	}
	if !endsInNumber(name) {
		return Host{Name: name}, nil
	}
	addr, err := parseIPv4(name)
	return Host{Addr: addr}, err
}

func parseIPv6(text string) (Host, error) {
	inner, closed := strings.CutSuffix(text[1:], "]")
	addr, err := netip.ParseAddr(inner)
	if !closed || err != nil || !addr.Is6() || addr.Zone() != "" {
		return Host{}, ErrIPv6
	}
	return Host{Addr: addr}, nil
}

// profile is how names are brought into ASCII.
var profile = sync.OnceValue(func() *idna.Profile {
	return idna.New(
		idna.MapForLookup(),
		idna.Transitional(false),
		idna.BidiRule(),
		idna.CheckJoiners(true),
		idna.CheckHyphens(false),
		idna.StrictDomainName(false),
		idna.VerifyDNSLength(false),
	)
})

// forbidden is what no name has.
const forbidden = " #/:<>?@[\\]^|%"

// toASCII returns a name in lower case and in ASCII.
func toASCII(name string) (string, error) {
	ascii := strings.ToLower(name)
	if !plain(name) || strings.Contains(ascii, "xn--") {
		if !utf8.ValidString(name) {
			return "", ErrDomain
		}
		var err error
		if ascii, err = profile().ToASCII(name); err != nil {
			return "", ErrDomain
		}
	}
	if ascii == "" || strings.ContainsAny(ascii, forbidden) || !plain(ascii) {
		return "", ErrDomain
	}
	return ascii, nil
}

// plain tells whether a text is of ASCII without controls.
func plain(text string) bool {
	for _, c := range []byte(text) {
		if c <= ' ' || c >= 0x7f {
			return false
		}
	}
	return true
}

// endsInNumber tells whether a host can't be a name.
func endsInNumber(host string) bool {
	host = strings.TrimSuffix(host, ".")
	last := host[strings.LastIndexByte(host, '.')+1:]
	if last == "" {
		return false
	}
	if strings.Trim(last, "0123456789") == "" {
		return true
	}
	_, ok := number(last)
	return ok
}

// parseIPv4 reads an address of one to four numbers, the last of which stands for
// all bytes that are left.
func parseIPv4(text string) (netip.Addr, error) {
	parts := strings.Split(strings.TrimSuffix(text, "."), ".")
	if len(parts) > 4 {
		return netip.Addr{}, ErrIPv4
	}
	var addr uint64
	for i, part := range parts {
		n, ok := number(part)
		left := 4 - i
		if i < len(parts)-1 {
			left = 1
		}
		if !ok || n >= 1<<(8*left) {
			return netip.Addr{}, ErrIPv4
		}
		addr = addr<<(8*left) | n
	}
	return netip.AddrFrom4([4]byte{byte(addr >> 24), byte(addr >> 16), byte(addr >> 8), byte(addr)}), nil
}

// number reads a part of an address: decimal, or octal or hexadecimal as in C.
func number(text string) (uint64, bool) {
	base, digits := 10, strings.ToLower(text)
	switch {
	case strings.HasPrefix(digits, "0x"):
		base, digits = 16, digits[2:]
		if digits == "" {
			return 0, true
		}
	case len(digits) > 1 && digits[0] == '0':
		base, digits = 8, digits[1:]
	}
	if strings.ContainsAny(digits, "+-_") {
		return 0, false
	}
	n, err := strconv.ParseUint(digits, base, 64)
	if err != nil {
		return 0, false
	}
	return n, true
}

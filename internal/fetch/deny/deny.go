// Package deny judges what must not be reached: addresses, in all the forms that
// lead to them, and names.
package deny

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/airlock-exec/airlock/internal/fetch/weburl"
)

// List is what must not be reached. The zero value denies nothing.
type List struct {
	blocks   []block
	names    map[string]string // to the rule
	suffixes []suffix
}

// block is a rule about addresses.
type block struct {
	prefix netip.Prefix
	rule   string
}

// suffix is a rule about all names that end in a dot and more.
type suffix struct{ end, rule string }

// Error says that something must not be reached.
type Error struct {
	Target string // a name or an address
	Rule   string // the entry of the list
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s must not be reached: the executor's --http-deny has %s", e.Target, e.Rule)
}

// Parse reads a list of addresses, blocks of addresses (10.0.0.0/8), names, and
// names that stand for all below them (*.example.com). The error names the entry
// that is wrong.
func Parse(entries []string) (*List, error) {
	l := &List{names: map[string]string{}}
	for _, entry := range entries {
		if err := l.add(entry); err != nil {
			return nil, fmt.Errorf("--http-deny %q: %w", entry, err)
		}
	}
	return l, nil
}

func (l *List) add(entry string) error {
	if strings.Contains(entry, "/") {
		prefix, err := netip.ParsePrefix(entry)
		if err != nil {
			return fmt.Errorf("not a block of addresses like 10.0.0.0/8: %w", err)
		}
		l.blocks = append(l.blocks, block{unmap(prefix), entry})
		return nil
	}
	if addr, err := netip.ParseAddr(unbracket(entry)); err == nil {
		addr = addr.WithZone("").Unmap()
		l.blocks = append(l.blocks, block{netip.PrefixFrom(addr, addr.BitLen()), entry})
		return nil
	}
	name, below := strings.CutPrefix(entry, "*.")
	host, err := weburl.ParseHost(strings.TrimSuffix(name, "."))
	switch {
	case err != nil || strings.ContainsAny(name, "*:"):
		return fmt.Errorf("neither an address, nor a block of them, nor a name, nor *.name")
	case host.Name == "":
		return fmt.Errorf("write the address as %s", host.Addr)
	case below:
		l.suffixes = append(l.suffixes, suffix{"." + host.Name, entry})
	default:
		l.names[host.Name] = entry
	}
	return nil
}

// unbracket takes the brackets off that IPv6 addresses have in URLs.
func unbracket(entry string) string {
	if inner, ok := strings.CutPrefix(entry, "["); ok && strings.HasSuffix(inner, "]") {
		return inner[:len(inner)-1]
	}
	return entry
}

// unmap turns a block of IPv4 addresses in the form of IPv6 into what it means.
func unmap(p netip.Prefix) netip.Prefix {
	if p.Addr().Is4In6() && p.Bits() >= 96 {
		p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	return p.Masked()
}

// Host judges the host of a URL, before anything is looked up.
func (l *List) Host(host weburl.Host) error {
	if host.Name == "" {
		return l.Addr(host.Addr)
	}
	name := strings.TrimRight(host.Name, ".")
	if rule, denied := l.names[name]; denied {
		return &Error{Target: host.Name, Rule: rule}
	}
	for _, s := range l.suffixes {
		if strings.HasSuffix(name, s.end) {
			return &Error{Target: host.Name, Rule: s.rule}
		}
	}
	return nil
}

// Addr judges an address.
func (l *List) Addr(addr netip.Addr) error {
	if len(l.blocks) == 0 {
		return nil
	}
	for _, form := range forms(addr) {
		for _, b := range l.blocks {
			if b.prefix.Contains(form) {
				return &Error{Target: addr.String(), Rule: b.rule}
			}
		}
	}
	return nil
}

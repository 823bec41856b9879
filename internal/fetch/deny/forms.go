package deny

import "net/netip"

// forms returns an address and all that it may lead to: a translator, a tunnel or
// the system itself passes on what is sent to the one to the other.
func forms(addr netip.Addr) []netip.Addr {
	addr = addr.WithZone("").Unmap()
	list := []netip.Addr{addr}
	if addr.Is6() {
		list = append(list, embedded(addr)...)
	}
	for _, form := range list {
		if form.IsUnspecified() {
			// What is sent to no address in particular stays on this machine.
			return append(list, netip.IPv6Loopback(), netip.AddrFrom4([4]byte{127, 0, 0, 1}))
		}
	}
	return list
}

// embedding is a kind of IPv6 addresses that hold one of IPv4.
type embedding struct {
	prefix netip.Prefix
	at     [4]int // which bytes
	invert bool
}

var embeddings = []embedding{
	{prefix: netip.MustParsePrefix("::/96"), at: [4]int{12, 13, 14, 15}},                   // IPv4-compatible (RFC 4291)
	{prefix: netip.MustParsePrefix("::ffff:0:0:0/96"), at: [4]int{12, 13, 14, 15}},         // IPv4-translated (RFC 2765)
	{prefix: netip.MustParsePrefix("64:ff9b::/96"), at: [4]int{12, 13, 14, 15}},            // NAT64 (RFC 6052)
	{prefix: netip.MustParsePrefix("64:ff9b:1::/48"), at: [4]int{12, 13, 14, 15}},          // NAT64 of this network (RFC 8215), /96 of it
	{prefix: netip.MustParsePrefix("64:ff9b:1::/48"), at: [4]int{6, 7, 9, 10}},             // the same, /48
	{prefix: netip.MustParsePrefix("64:ff9b:1::/48"), at: [4]int{7, 9, 10, 11}},            // the same, /56
	{prefix: netip.MustParsePrefix("64:ff9b:1::/48"), at: [4]int{9, 10, 11, 12}},           // the same, /64
	{prefix: netip.MustParsePrefix("2002::/16"), at: [4]int{2, 3, 4, 5}},                   // 6to4 (RFC 3056)
	{prefix: netip.MustParsePrefix("2001::/32"), at: [4]int{12, 13, 14, 15}, invert: true}, // Teredo (RFC 4380), the client
	{prefix: netip.MustParsePrefix("2001::/32"), at: [4]int{4, 5, 6, 7}},                   // the same, the server
}

// isatap is what stands before an IPv4 address in the second half of an address
// of ISATAP (RFC 5214), but for the bit that says whether it is unique.
var isatap = [4]byte{0, 0, 0x5e, 0xfe}

// embedded returns the IPv4 addresses that one of IPv6 may stand for.
func embedded(addr netip.Addr) []netip.Addr {
	raw := addr.As16()
	var list []netip.Addr
	for _, e := range embeddings {
		if !e.prefix.Contains(addr) || addr == netip.IPv6Loopback() {
			continue
		}
		var inner [4]byte
		for i, at := range e.at {
			inner[i] = raw[at]
			if e.invert {
				inner[i] = ^inner[i]
			}
		}
		list = append(list, netip.AddrFrom4(inner))
	}
	if [4]byte{raw[8] &^ 2, raw[9], raw[10], raw[11]} == isatap {
		list = append(list, netip.AddrFrom4([4]byte(raw[12:16])))
	}
	return list
}

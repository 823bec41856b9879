package deny

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/airlock-exec/airlock/internal/fetch/weburl"
)

func parse(t *testing.T, entries ...string) *List {
	t.Helper()
	l, err := Parse(entries)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// judge judges a host as it stands in a URL.
func judge(t *testing.T, l *List, host string) error {
	t.Helper()
	u, err := weburl.Parse("http://" + host + "/")
	if err != nil {
		t.Fatalf("%s: %v", host, err)
	}
	return l.Host(u.Host)
}

func TestNames(t *testing.T) {
	t.Parallel()
	l := parse(t, "Metadata.Google.Internal", "*.example.com", "bücher.invalid", "dot.invalid.")
	for host, rule := range map[string]string{
		"metadata.google.internal":   "Metadata.Google.Internal",
		"METADATA.google.internal.":  "Metadata.Google.Internal",
		"metadata%2egoogle.internal": "Metadata.Google.Internal",
		"a.example.com":              "*.example.com",
		"a.b.example.com..":          "*.example.com",
		"xn--bcher-kva.invalid":      "bücher.invalid",
		"BÜCHER.invalid":             "bücher.invalid",
		"dot.invalid":                "dot.invalid.",
	} {
		denied, ok := errors.AsType[*Error](judge(t, l, host))
		if !ok || denied.Rule != rule {
			t.Errorf("%s: %v, want the rule %s", host, denied, rule)
		}
	}
	for _, host := range []string{"example.com", "google.internal", "a.metadata.google.internal", "badexample.com", "127.0.0.1"} {
		if err := judge(t, l, host); err != nil {
			t.Errorf("%s: %v", host, err)
		}
	}
}

// TestForms asserts that an address is denied in all the forms that lead to it.
func TestForms(t *testing.T) {
	t.Parallel()
	l := parse(t, "169.254.0.0/16", "fd00::/8", "127.0.0.1", "::ffff:10.0.0.0/104", "[::1]")
	for _, host := range []string{
		"169.254.169.254", "2852039166", "0xa9.0376.43518", // as C reads it
		"[::ffff:169.254.169.254]", "[::ffff:a9fe:a9fe]", // mapped
		"[::169.254.169.254]",            // compatible
		"[::ffff:0:169.254.169.254]",     // translated
		"[64:ff9b::a9fe:a9fe]",           // NAT64
		"[64:ff9b:1::a9fe:a9fe]",         // NAT64 of this network
		"[64:ff9b:1:a9fe:a9:fe00::]",     // the same, with a /48
		"[64:ff9b:1:aa:a9:fea9:fe00::]",  // the same, with a /64
		"[64:ff9b:1:aaa9:fe:a9fe::]",     // the same, with a /56
		"[2002:a9fe:a9fe::1]",            // 6to4
		"[2001:0:1:1:1:1:5601:5601]",     // Teredo
		"[2001:0:a9fe:a9fe::1]",          // a Teredo server
		"[fe80::5efe:169.254.169.254]",   // ISATAP
		"[2001:db8::200:5efe:a9fe:a9fe]", // ISATAP, unique
		"[fd12:3456::1]",
		"10.1.2.3", "[::ffff:10.1.2.3]",
		"127.0.0.1", "0.0.0.0", "[::]", "[::1]", "[::ffff:0.0.0.0]",
	} {
		if judge(t, l, host) == nil {
			t.Errorf("%s is not denied", host)
		}
	}
	for _, host := range []string{"169.253.1.1", "8.8.8.8", "[2001:db8::1]", "127.0.0.2", "[64:ff9b::808:808]", "[fe80::1]"} {
		if err := judge(t, l, host); err != nil {
			t.Errorf("%s: %v", host, err)
		}
	}
	if l.Addr(netip.MustParseAddr("fd00::1%eth0")) == nil {
		t.Error("an address with a zone is not denied")
	}
}

// TestUnspecified: what is sent to no address stays here, whichever loopback
// address is denied.
func TestUnspecified(t *testing.T) {
	t.Parallel()
	for _, entry := range []string{"127.0.0.0/8", "::1"} {
		for _, addr := range []string{"0.0.0.0", "::", "64:ff9b::"} {
			if parse(t, entry).Addr(netip.MustParseAddr(addr)) == nil {
				t.Errorf("%s lets %s pass", entry, addr)
			}
		}
	}
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	for _, entry := range []string{"", "10.0.0.0/33", "10.0.0/8", "*", "*.", "a.*.b", "a b", "http://x", "h:80", "127.1", "*.1.2.3.4", "fe80::/10/8", "[::1", "*.*.x"} {
		_, err := Parse([]string{"ok.example", entry})
		if err == nil || !strings.Contains(err.Error(), `"`+entry+`"`) {
			t.Errorf("%q: %v", entry, err)
		}
	}
}

// TestMapped: a rule about IPv4 holds for every address in the form of IPv6.
func TestMapped(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		addr := netip.AddrFrom4([4]byte(rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "addr")))
		bits := rapid.IntRange(0, 32).Draw(t, "bits")
		l, err := Parse([]string{netip.PrefixFrom(addr, bits).Masked().String()})
		if err != nil {
			t.Fatal(err)
		}
		if l.Addr(addr) == nil || l.Addr(netip.AddrFrom16(addr.As16())) == nil {
			t.Fatalf("%s passes", addr)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, entry := range []string{"10.0.0.0/8", "::1", "*.example.com", "x", "[::1]", "::ffff:1.2.3.4/97"} {
		f.Add(entry)
	}
	f.Fuzz(func(t *testing.T, entry string) {
		l, err := Parse([]string{entry})
		if err != nil {
			return
		}
		_ = l.Addr(netip.MustParseAddr("64:ff9b::1"))
		if len(l.blocks)+len(l.names)+len(l.suffixes) != 1 {
			t.Fatalf("%q is no rule: %+v", entry, l)
		}
	})
}

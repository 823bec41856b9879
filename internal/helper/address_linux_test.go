package helper

import (
	"encoding/binary"
	"net/netip"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/airlock-exec/airlock/internal/helper/plan"
)

func TestAddressText(t *testing.T) {
	t.Parallel()
	family := func(f uint16, rest string) []byte {
		return append(binary.NativeEndian.AppendUint16(nil, f), rest...)
	}
	for _, test := range []struct {
		address    []byte
		path, text string
	}{
		{nil, "", ""},
		{[]byte{1}, "", ""},
		{family(unix.AF_UNIX, ""), "", ""},
		{family(unix.AF_UNIX, "/run/x\x00rubbish"), "/run/x", ""},
		{family(unix.AF_UNIX, "relative"), "relative", ""},
		{family(unix.AF_UNIX, "\x00na\x00me"), "@na@me", ""},
		{family(unix.AF_INET, "\x01\xbb\xc0\x00\x02\x01rest"), "", "192.0.2.1:443"},
		{family(unix.AF_INET, "\x01\xbb\xc0"), "", "AF_INET"},
		{family(unix.AF_INET6, "\x00\x50\x00\x00\x00\x00"+strings.Repeat("\x00", 15)+"\x01"), "", "[::1]:80"},
		{family(unix.AF_VSOCK, ""), "", "AF_VSOCK"},
		{family(77, "x"), "", "family 77"},
	} {
		if path, address := addressText(test.address); path != test.path || address != test.text {
			t.Errorf("%q: %q, %q; want %q, %q", test.address, path, address, test.path, test.text)
		}
	}
}

// TestInternet6Text: addresses are written as package net/netip does.
func TestInternet6Text(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b := make([]byte, 16)
		for i := range 8 { // with many zeros
			binary.BigEndian.PutUint16(b[2*i:], rapid.SampledFrom([]uint16{0, 0, 0, 1, 0x10, 0xffff}).Draw(t, "part"))
		}
		address := netip.AddrFrom16([16]byte(b))
		if address.Is4In6() {
			return // those are written in the manner of the older ones
		}
		if got, want := internet6Text(b), address.String(); got != want {
			t.Fatalf("%s, want %s", got, want)
		}
	})
}

func TestGranted(t *testing.T) {
	t.Parallel()
	some := plan.Sockets{Paths: []string{"/run/docker.sock", "/srv/"}}
	for path, want := range map[string]bool{
		"/run/docker.sock": true, "/run/docker.sock2": false, "/run/docker.sock/x": true, "/run": false, "": false,
		"/srv/a/b": true, "/srv": true, "/srvx": false, "/run/docker.sock (deleted)": false,
	} {
		if isGranted(&some, path) != want {
			t.Errorf("%q is granted: %v", path, !want)
		}
	}
	if !isGranted(&plan.Sockets{Paths: []string{"/"}}, "/run/x") || !isGranted(&plan.Sockets{All: true}, "") {
		t.Error("all are granted, and this is not")
	}
}

// FuzzAddress: whatever a program puts in the place of an address can be told.
func FuzzAddress(f *testing.F) {
	f.Add([]byte("\x01\x00/run/x\x00"))
	f.Add([]byte("\x02\x00\x00\x50\x7f\x00\x00\x01"))
	f.Add([]byte("\x0a\x00\x00\x50" + strings.Repeat("\x00", 20)))
	f.Fuzz(func(t *testing.T, b []byte) {
		b = b[:min(len(b), maxAddress)]
		path, address := addressText(b)
		if path != "" && address != "" || len(path) > len(b) || strings.Contains(path, "\x00") {
			t.Errorf("%q: %q, %q", b, path, address)
		}
	})
}

// FuzzListening: the list of sockets is read to its end, or refused.
func FuzzListening(f *testing.F) {
	f.Add(listMessage("\x05\x00\x00\x00@", unix.SOCK_DIAG_BY_FAMILY))
	f.Add(listMessage("", unix.NLMSG_DONE))
	f.Add(listMessage("", unix.NLMSG_ERROR))
	f.Fuzz(func(t *testing.T, b []byte) {
		found := 0
		if _, err := eachMessage(b, func(m []byte) {
			found++
			if l := parseListening(m); l.hasFile && len(m) < diagHeader+12 {
				t.Errorf("%q has a file: %+v", m, l)
			}
		}); err == nil && found > len(b)/(netlinkHeader+diagHeader) {
			t.Errorf("%d sockets in %d bytes", found, len(b))
		}
	})
}

// listMessage is a message of the list, with attributes.
func listMessage(attributes string, kind uint16) []byte {
	b := binary.NativeEndian.AppendUint32(nil, uint32(netlinkHeader+diagHeader+len(attributes)))
	b = binary.NativeEndian.AppendUint16(b, kind)
	b = append(b, make([]byte, 10+diagHeader)...)
	return append(b, attributes...)
}

func TestListening(t *testing.T) {
	t.Parallel()
	attributes := "\x07\x00\x00\x00\x00ab\x00" + "\x0c\x00\x01\x00\x01\x00\x00\x00\x02\x00\x00\x00"
	b := append(listMessage(attributes, unix.SOCK_DIAG_BY_FAMILY), listMessage("", unix.NLMSG_DONE)...)
	var all []listening
	done, err := eachMessage(b, func(m []byte) { all = append(all, parseListening(m)) })
	if want := (listening{name: "\x00ab", hasFile: true, file: 1, device: 2}); !done || err != nil || len(all) != 1 || all[0] != want {
		t.Errorf("%v, %v, %+v; want %+v", done, err, all, want)
	}
	if _, err := eachMessage(listMessage("", unix.NLMSG_ERROR), nil); err == nil {
		t.Error("an error is a list")
	}
	if _, err := eachMessage([]byte(strings.Repeat("\xff", 40)), nil); err == nil {
		t.Error("a message longer than what there is")
	}
	if got := signalSet("Name:\tx\nSigPnd:\t0000000000000200\nSigBlk:\t0\n", "SigPnd:"); got != 0x200 {
		t.Errorf("signals are %x", got)
	}
}

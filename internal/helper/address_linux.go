package helper

import (
	"encoding/binary"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// unixAddressBytes is the length of the longest address of a Unix socket.
const unixAddressBytes = 110

// unixName is what a Unix socket is called in an address: a path, or, if it begins
// with a zero, a name that is in no file system.
type unixName string

// nameOfUnix returns the name in an address, which is that of a Unix socket.
func nameOfUnix(b []byte) unixName {
	name := b[2:]
	if len(name) > 0 && name[0] != 0 {
		for i, c := range name {
			if c == 0 {
				name = name[:i]
				break
			}
		}
	}
	return unixName(name)
}

func (n unixName) isAbstract() bool { return n != "" && n[0] == 0 }

// String returns the name as people write it.
func (n unixName) String() string {
	if n.isAbstract() {
		return "@" + strings.ReplaceAll(string(n[1:]), "\x00", "@")
	}
	return string(n)
}

// unixAddress returns an address for a path, which must not be too long.
func unixAddress(path string) []byte {
	b := binary.NativeEndian.AppendUint16(nil, unix.AF_UNIX)
	return append(append(b, path...), 0)
}

// addressText returns the address of a socket as people write it: that of a Unix
// socket as a path.
func addressText(b []byte) (path, address string) {
	if len(b) < 2 {
		return "", ""
	}
	switch family := binary.NativeEndian.Uint16(b); {
	case family == unix.AF_UNIX:
		return nameOfUnix(b).String(), ""
	case family == unix.AF_INET && len(b) >= 8:
		return "", internetText(b[4:8]) + ":" + portText(b)
	case family == unix.AF_INET6 && len(b) >= 24:
		return "", "[" + internet6Text(b[8:24]) + "]:" + portText(b)
	default:
		return "", familyName(uint64(family))
	}
}

func portText(b []byte) string { return strconv.Itoa(int(binary.BigEndian.Uint16(b[2:]))) }

func internetText(b []byte) string {
	parts := make([]string, len(b))
	for i, c := range b {
		parts[i] = strconv.Itoa(int(c))
	}
	return strings.Join(parts, ".")
}

// internet6Text writes an address with the longest run of zeros left out. Package
// net/netip can do that, too; the helper would be slower to start with it.
func internet6Text(b []byte) string {
	parts := make([]string, 8)
	start, length := 0, 1 // one zero alone is written
	run := 0
	for i := range parts {
		part := binary.BigEndian.Uint16(b[2*i:])
		parts[i] = strconv.FormatUint(uint64(part), 16)
		run++
		if part != 0 {
			run = 0
		}
		if run > length {
			start, length = i+1-run, run
		}
	}
	if length == 1 {
		return strings.Join(parts, ":")
	}
	return strings.Join(parts[:start], ":") + "::" + strings.Join(parts[start+length:], ":")
}

func familyName(family uint64) string {
	switch family {
	case unix.AF_UNIX:
		return "AF_UNIX"
	case unix.AF_INET:
		return "AF_INET"
	case unix.AF_INET6:
		return "AF_INET6"
	case unix.AF_NETLINK:
		return "AF_NETLINK"
	case unix.AF_PACKET:
		return "AF_PACKET"
	case unix.AF_ALG:
		return "AF_ALG"
	case unix.AF_VSOCK:
		return "AF_VSOCK"
	default:
		return "family " + strconv.FormatUint(family, 10)
	}
}

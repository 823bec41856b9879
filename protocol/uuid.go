package protocol

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// UUID is an RFC 9562 identifier. It is written as 32 lower-case hex digits in
// groups of 8, 4, 4, 4 and 12.
type UUID [16]byte

// NewUUID returns a random (version 4) UUID.
func NewUUID() UUID {
	var u UUID
	rand.Read(u[:]) // never fails
	u[6] = u[6]&0x0f | 0x40
	u[8] = u[8]&0x3f | 0x80
	return u
}

// ParseUUID reads the common spellings: hyphenated, the same in braces or after
// "urn:uuid:", or 32 digits without hyphens. Digits may be in either case.
func ParseUUID(s string) (UUID, error) {
	digits := s
	switch {
	case len(s) == 38 && s[0] == '{' && s[37] == '}':
		digits = s[1:37]
	case len(s) == 45:
		digits = strings.TrimPrefix(s, "urn:uuid:")
	}
	if len(digits) == 36 && digits[8] == '-' && digits[13] == '-' && digits[18] == '-' && digits[23] == '-' {
		digits = digits[:8] + digits[9:13] + digits[14:18] + digits[19:23] + digits[24:]
	} else if digits != s {
		return UUID{}, uuidFault(s)
	}
	raw, err := hex.DecodeString(digits)
	if err != nil || len(raw) != len(UUID{}) {
		return UUID{}, uuidFault(s)
	}
	return UUID(raw), nil
}

func uuidFault(s string) error {
	if strings.Trim(s, "0123456789abcdefABCDEF") == "" {
		return fmt.Errorf("invalid length: expected length 32 for simple format, found %d", len(s))
	}
	return errors.New("invalid UUID: expected groups of 8, 4, 4, 4 and 12 hex digits")
}

// String returns the canonical spelling.
func (u UUID) String() string {
	var b [36]byte
	return string(u.append(b[:0]))
}

func (u UUID) append(dst []byte) []byte {
	dst = hex.AppendEncode(dst, u[:4])
	for _, group := range [][]byte{u[4:6], u[6:8], u[8:10], u[10:]} {
		dst = hex.AppendEncode(append(dst, '-'), group)
	}
	return dst
}

// MarshalText returns the canonical spelling.
func (u UUID) MarshalText() ([]byte, error) { return u.append(nil), nil }

// UnmarshalText reads what [ParseUUID] reads.
func (u *UUID) UnmarshalText(text []byte) error {
	parsed, err := ParseUUID(string(text))
	if err == nil {
		*u = parsed
	}
	return err
}

package protocol

import "testing"

func TestParseUUID(t *testing.T) {
	t.Parallel()
	const want = "67e55044-10b1-426f-9247-bb680e5fe0c8"
	for _, s := range []string{
		want,
		"67E55044-10B1-426F-9247-BB680E5FE0C8",
		"67e5504410b1426f9247bb680e5fe0c8",
		"67E5504410b1426F9247bb680e5fe0c8",
		"{67e55044-10b1-426f-9247-BB680E5FE0C8}",
		"urn:uuid:67e55044-10b1-426f-9247-BB680E5FE0C8",
	} {
		if u, err := ParseUUID(s); err != nil || u.String() != want {
			t.Errorf("%q: got %s (%v)", s, u, err)
		}
	}
}

func TestParseUUIDErrors(t *testing.T) {
	t.Parallel()
	const groups = "invalid UUID: expected groups of 8, 4, 4, 4 and 12 hex digits"
	for _, test := range []struct{ in, want string }{
		{"", "invalid length: expected length 32 for simple format, found 0"},
		{"abc", "invalid length: expected length 32 for simple format, found 3"},
		{"67e5504410b1426f9247bb680e5fe0c8a", "invalid length: expected length 32 for simple format, found 33"},
		{"67e5504410b1426f9247bb680e5fe0c867e5", "invalid length: expected length 32 for simple format, found 36"},
		{"67e5504410b1426f9247bb680e5fe0cg", groups},
		{"67e55044-10b1-426f-9247-bb680e5fe0cg", groups},
		{"67e55044-10b1426f9247bb680e5fe0c8", groups},
		{"67e55044-10b1-426f-9247bb-680e5fe0c8", groups},
		{"67e5504-410b1-426f-9247-bb680e5fe0c8", groups},
		{"{67e55044-10b1-426f-9247-bb680e5fe0c8", groups},
		{"{67e55044-10b1-426f-9247-bb680e5fe0c8)", groups},
		{"{67e5504410b1426f9247bb680e5fe0c8}", groups},
		{"{67e5504410b1426f9247bb680e5fe0c867e5}", groups},
		{"URN:UUID:67e55044-10b1-426f-9247-bb680e5fe0c8", groups},
		{"urn:uuid:67e5504410b1426f9247bb680e5fe0c8", groups},
		{"urn:uuid:{7e55044-10b1-426f-9247-bb680e5fe0c}", groups},
		{" 67e55044-10b1-426f-9247-bb680e5fe0c8", groups},
		{"67e55044-10b1-426f-9247-bb680e5fe0c8\n", groups},
		{"éééééééééééééééé", groups},
	} {
		if u, err := ParseUUID(test.in); err == nil || err.Error() != test.want {
			t.Errorf("%q: got %s (%v), want error %q", test.in, u, err, test.want)
		}
	}
}

func TestNewUUID(t *testing.T) {
	t.Parallel()
	u := NewUUID()
	if s := u.String(); s[14] != '4' || s[19] < '8' || s[19] > 'b' {
		t.Errorf("%s is not of version 4", u)
	}
	if u == NewUUID() {
		t.Error("the same UUID twice")
	}
}

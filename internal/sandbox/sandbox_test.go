package sandbox

import (
	"errors"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/airlock-exec/airlock/protocol"
)

// TestCheckFiles: what restricts an operation is refused, as nothing enforces it;
// what is not understood, too.
func TestCheckFiles(t *testing.T) {
	t.Parallel()
	managed := func(entries string) string {
		return `{"permissions":{"type":"managed","file_system":{"type":"restricted","entries":[` + entries +
			`]},"network":"restricted"},"windowsSandboxLevel":"disabled"}`
	}
	permissions := func(profile string) string {
		return `{"permissions":` + profile + `,"windowsSandboxLevel":"disabled"}`
	}
	root := func(access string) string {
		return `{"path":{"type":"special","value":{"kind":"root"}},"access":"` + access + `"}`
	}
	const (
		allowed = protocol.Code(0)
		refused = protocol.CodeInvalidRequest
		invalid = protocol.CodeInvalidParams
	)
	for _, test := range []struct {
		sandbox     string
		read, write protocol.Code
	}{
		{``, allowed, allowed},
		{`null`, allowed, allowed},
		{permissions(`{"type":"disabled"}`), allowed, allowed},
		{permissions(`{"type":"external","network":"restricted"}`), allowed, allowed},
		{permissions(`{"type":"managed","file_system":{"type":"unrestricted"},"network":"restricted"}`), allowed, allowed},
		{managed(root("write")), allowed, allowed},
		{managed(root("read")), allowed, refused},
		{managed(root("read") + `,{"path":{"type":"path","path":"file:///w"},"access":"write"}`), allowed, refused},
		{managed(root("write") + `,{"path":{"type":"path","path":"file:///w"},"access":"read"}`), allowed, refused},
		{managed(root("write") + `,{"path":{"type":"path","path":"file:///w"},"access":"deny"}`), refused, refused},
		{managed(root("read") + `,{"path":{"type":"glob_pattern","pattern":"*.env"},"access":"none"}`), refused, refused},
		{managed(root("write") + `,{"path":{"type":"path","path":"file:///w"},"access":"new"}`), refused, refused},
		{managed(`{"path":{"type":"special","value":{"kind":"minimal"}},"access":"write"}`), refused, refused},
		{managed(`{"path":{"type":"special"},"access":"write"}`), refused, refused},
		{managed(``), refused, refused},
		{permissions(`{"type":"managed","file_system":{"type":"new"},"network":"restricted"}`), refused, refused},
		{permissions(`{"type":"managed","network":"restricted"}`), invalid, invalid},
		{permissions(`{"type":"new"}`), invalid, invalid},
		{permissions(`{}`), invalid, invalid},
		{permissions(`{"type":"external"}`), invalid, invalid},
		{permissions(`{"type":"external","network":"new"}`), invalid, invalid},
		{permissions(`{"type":"managed","file_system":{"type":"unrestricted"}}`), invalid, invalid},
		{`{"permissions":{"type":"disabled"}}`, invalid, invalid},
		{`{"permissions":{"type":"disabled"},"windowsSandboxLevel":"new"}`, invalid, invalid},
		{`{"permissions":{"type":"disabled"},"windowsSandboxLevel":"mxc","sandboxOverride":"new"}`, invalid, invalid},
		{`{"permissions":{"type":"disabled"},"windowsSandboxLevel":"mxc","sandboxOverride":"noOverride","more":1}`, allowed, allowed},
		{`{}`, invalid, invalid},
		{permissions(`null`), invalid, invalid},
		{managed(`{"path":"file:///w","access":"read"}`), invalid, invalid},
	} {
		for access, want := range map[Access]protocol.Code{
			Read: test.read, Write: test.write, Read | Write: max(test.read, test.write),
		} {
			if access == Read|Write && (test.read == refused || test.write == refused) {
				want = refused
			}
			got := allowed
			if err := CheckFiles(jsontext.Value(test.sandbox), access); err != nil {
				wire, ok := errors.AsType[*protocol.Error](err)
				if !ok {
					t.Fatalf("%s: %v is no error of the wire", test.sandbox, err)
				}
				got = wire.Code
			}
			if got != want {
				t.Errorf("%s, access %d: code %d, want %d", test.sandbox, access, got, want)
			}
		}
	}
}

// TestTexts: clients know what is said of a sandbox that makes no sense.
func TestTexts(t *testing.T) {
	t.Parallel()
	for sandbox, want := range map[string]string{
		`{"permissions":{"type":"disabled"}}`:                                                "missing field `windowsSandboxLevel`",
		`{"permissions":{"type":"external"},"windowsSandboxLevel":"disabled"}`:               "missing field `network`",
		`{"permissions":{"type":"external","network":"x"},"windowsSandboxLevel":"disabled"}`: "unknown variant `x`, expected `restricted` or `enabled`",
		`{"permissions":{"type":"disabled"},"windowsSandboxLevel":"x"}`:                      "unknown variant `x`, expected one of `disabled`, `restricted-token`, `elevated`, `mxc`",
		`{"permissions":{"type":"x"},"windowsSandboxLevel":"disabled"}`:                      "unknown variant `x`, expected one of `managed`, `disabled`, `external`",
	} {
		if err := CheckFiles(jsontext.Value(sandbox), Read); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", sandbox, err, want)
		}
	}
}

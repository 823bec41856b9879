package discover

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/airlock-exec/airlock/protocol"
)

// workers are Confined: they do what real ones do, but without a confinement.
type workers struct {
	asked int
	// spoil changes what they answer.
	spoil func(*Done)
	err   error
}

func (w *workers) Append(ctx context.Context, dst []byte, method string, params any) ([]byte, error) {
	w.asked++
	if w.err != nil {
		return dst, w.err
	}
	asked := params.(*Task)
	if method != WorkMethod || *asked.Confinement() == nil {
		return dst, errors.New("nobody has asked for a confinement")
	}
	// As it travels.
	raw, err := protocol.Encode(asked)
	if err != nil {
		return dst, err
	}
	task, err := protocol.Decode[Task](raw)
	if err != nil {
		return dst, err
	}
	done, err := Work(ctx, &task)
	if err != nil {
		return dst, err
	}
	if w.spoil != nil {
		w.spoil(done)
	}
	answer, err := protocol.Encode(done)
	return append(dst, answer...), err
}

// TestConfined: a worker finds what would be found here, and is asked only if
// something can't be read.
func TestConfined(t *testing.T) {
	t.Parallel()
	const skill = "---\nname: n\ndescription: d\n---\n"
	h := newHost(t, map[string]string{
		"a/SKILL.md": "a", "a/x/SKILL.md": skill, "a/.codex-plugin/plugin.json": `{"name":"p"}`, "a/x/agents/openai.yaml": "x: 1",
		"home/.codex/skills/s/SKILL.md": skill, "home/.agents/skills/t/SKILL.md": skill,
	})
	w := &workers{}
	config := h.config()
	config.Confined = w
	d := New(config)
	restricted := protocol.RestrictedSandbox(protocol.NetworkRestricted)
	for _, test := range []struct {
		sandbox *protocol.SandboxContext
		asked   int
	}{{nil, 0}, {protocol.FullAccessSandbox(), 0}, {protocol.ReadOnlySandbox(protocol.NetworkRestricted), 0}, {restricted, 1}} {
		w.asked = 0
		got, err := d.Roots(t.Context(), &protocol.DiscoverRootsParams{Roots: []protocol.DiscoverRoot{{ID: "1", Path: h.uri("a"), Sandbox: test.sandbox}}})
		if err != nil || w.asked != test.asked {
			t.Fatalf("asked %d workers, want %d: %v", w.asked, test.asked, err)
		}
		want, err := d.Roots(t.Context(), &protocol.DiscoverRootsParams{Roots: []protocol.DiscoverRoot{{ID: "1", Path: h.uri("a")}}})
		if err != nil || len(want.Roots[0].Skills) != 2 || want.Roots[0].Plugin == nil {
			t.Fatalf("%+v: %v", want, err)
		}
		if diff := cmp.Diff(want, got, uris, cmpopts.EquateEmpty()); diff != "" {
			t.Error(diff)
		}
		w.asked = 0
		found, err := d.Installed(t.Context(), &protocol.DiscoverCapabilitiesParams{CWD: h.uri("a"), Sandbox: test.sandbox})
		if err != nil || w.asked != test.asked || len(found.Skills) != 2 {
			t.Fatalf("asked %d workers, found %+v: %v", w.asked, found, err)
		}
	}
}

// TestConfinedFails: what a worker can't do, or says wrongly, is an error of that
// folder.
func TestConfinedFails(t *testing.T) {
	t.Parallel()
	h := newHost(t, map[string]string{"a/SKILL.md": "a"})
	restricted := protocol.RestrictedSandbox(protocol.NetworkRestricted)
	for _, test := range []struct {
		name    string
		workers workers
		want    string
	}{
		{"refused", workers{err: protocol.Errorf(protocol.CodeInvalidRequest, "no place")}, "no place"},
		{"another answer", workers{spoil: func(d *Done) { d.Root, d.Installed = nil, nil }}, "unexpected fs sandbox helper response"},
		{"too large", workers{spoil: func(d *Done) { d.Root.Warnings = []string{strings.Repeat("x", 50<<20)} }}, "the answer would be too large"},
		{"of another folder", workers{spoil: func(d *Done) { d.Root.ID, d.Root.Path = "other", h.uri("b") }}, ""},
	} {
		config := h.config()
		config.Confined = &test.workers
		got, err := New(config).Roots(t.Context(), &protocol.DiscoverRootsParams{Roots: []protocol.DiscoverRoot{{ID: "1", Path: h.uri("a"), Sandbox: restricted}}})
		if err != nil {
			t.Fatal(err)
		}
		root := got.Roots[0]
		if root.ID != "1" || root.Path != h.uri("a") {
			t.Errorf("%s: it is about %s, %s", test.name, root.ID, root.Path)
		}
		if test.want == "" && root.Error != nil || test.want != "" && (root.Error == nil || !strings.Contains(*root.Error, test.want)) {
			t.Errorf("%s: %+v", test.name, root)
		}
	}
}

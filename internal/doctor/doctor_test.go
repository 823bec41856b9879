package doctor

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func fine(*host) result { return result{status: OK, found: "it works"} }

func TestReport(t *testing.T) {
	t.Parallel()
	lost := func(*host) result {
		return result{status: Missing, found: "it does not", mend: "Buy one.", facts: map[string]any{"n": 1}}
	}
	worse := func(*host) result { return result{status: Weaker, found: "half of it", mend: "Buy the rest."} }
	for _, test := range []struct {
		name        string
		probes      []probe
		unavailable []string
	}{
		{"all fine", []probe{{"a", Processes, true, "to a", fine}}, nil},
		{"missing, but no default", []probe{{"a", Sandbox, false, "to a", lost}}, nil},
		{"weaker", []probe{{"a", Room, true, "to a", worse}}, nil},
		{"missing", []probe{
			{"a", Room, true, "to a", lost}, {"b", Room, true, "to b", fine}, {"c", Room, true, "to c", lost},
		}, []string{"a", "c"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r, err := examine(t.Context(), &host{uid: 7}, test.probes)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.unavailable, r.Unavailable()); diff != "" {
				t.Errorf("unavailable (-want +got):\n%s", diff)
			}
			if r.DefaultsAvailable != (test.unavailable == nil) || r.UserID != 7 || r.FormatVersion != FormatVersion {
				t.Errorf("report %+v", r)
			}
			for i, c := range r.Checks {
				p := test.probes[i]
				was := p.examine(nil)
				want := Check{p.name, p.group, was.status, p.isDefault, was.found, p.purpose, was.mend, was.facts}
				if diff := cmp.Diff(want, c); diff != "" {
					t.Errorf("check (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// A probe that hangs, in the kernel perhaps, must not keep the others from being
// told.
func TestHangingProbe(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		end := make(chan struct{})
		defer close(end)
		hangs := func(*host) result { <-end; return result{} }
		began := time.Now()
		r, err := examine(t.Context(), &host{}, []probe{{"a", Room, true, "to a", hangs}, {"b", Room, true, "to b", fine}})
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != patience {
			t.Errorf("it took %v, want %v", took, patience)
		}
		a, b := r.Checks[0], r.Checks[1]
		if a.Status != Missing || a.Found != "the probe has not answered in 5s" || a.Mend == "" || r.DefaultsAvailable {
			t.Errorf("the one that hangs: %+v", a)
		}
		if b.Status != OK {
			t.Errorf("the other one: %+v", b)
		}
	})
}

func TestInterrupted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		end := make(chan struct{})
		defer close(end)
		ctx, cancel := context.WithCancelCause(t.Context())
		enough := errors.New("enough")
		hangs := func(*host) result { cancel(enough); <-end; return result{} }
		r, err := examine(ctx, &host{}, []probe{{"a", Room, true, "to a", hangs}})
		if !errors.Is(err, enough) || err.Error() != "examining a: enough" || r != nil {
			t.Errorf("%v, %v", r, err)
		}
	})
}

// What people read and what programs go by has a form that is kept.
func TestProbeTable(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	group := Group("")
	left := map[Group]bool{}
	for _, p := range probes() {
		if names[p.name] || strings.ToLower(p.name) != p.name || strings.ContainsAny(p.name, " _") {
			t.Errorf("%q is no name for a probe, or not for one only", p.name)
		}
		names[p.name] = true
		if p.purpose == "" || strings.HasSuffix(p.purpose, ".") {
			t.Errorf("%s: the purpose %q is to be a phrase", p.name, p.purpose)
		}
		if p.group != group {
			if left[p.group] {
				t.Errorf("%s: group %s is in two places", p.name, p.group)
			}
			left[p.group] = true
			group = p.group
		}
	}
}

func TestSizeText(t *testing.T) {
	t.Parallel()
	for bytes, want := range map[uint64]string{
		0: "0 bytes", 1023: "1023 bytes", 1024: "1.0 KiB", 1536: "1.5 KiB", 10 << 10: "10 KiB",
		256 << 20: "256 MiB", 1<<30 - 1: "1024 MiB", 3 << 40: "3.0 TiB", 1<<64 - 1: "16 EiB",
	} {
		if got := sizeText(bytes); got != want {
			t.Errorf("sizeText(%d) is %q, want %q", bytes, got, want)
		}
	}
}

package helper

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/airlock-exec/airlock/internal/helper/plan"
)

// TestReports: whatever the rate of denials, and whoever does not listen, few messages
// tell of them, and all of them are told in the end.
func TestReports(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		room func(sent int) bool
		most int
	}{
		{"there is room", func(int) bool { return true }, 101},
		{"there is none", func(int) bool { return false }, 0},
		{"there is room for a few", func(sent int) bool { return sent < 3 }, 3},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				sent, told := 0, map[plan.Denial]uint64{}
				tell := func(d plan.Denial) bool {
					n := d.Count
					d.Count = 0
					told[d] += n
					return true
				}
				r := newReports(func(d plan.Denial) bool {
					if !test.room(sent) {
						return false
					}
					sent++
					return tell(d)
				})
				for range 10_000 { // 1 s
					r.add(plan.Denial{What: "socket", Address: "AF_INET"})
					r.flush() // as is done after each event
					time.Sleep(100 * time.Microsecond)
				}
				if sent > test.most {
					t.Errorf("%d messages, want at most %d", sent, test.most)
				}
				if test.most == 0 && !r.waiting() {
					t.Error("nothing is left to tell")
				}
				r.add(plan.Denial{What: "ptrace"})
				r.end(tell)
				want := map[plan.Denial]uint64{{What: "socket", Address: "AF_INET"}: 10_000, {What: "ptrace"}: 1}
				if diff := cmp.Diff(want, told); diff != "" {
					t.Error(diff)
				}
				if r.waiting() {
					t.Error("something is left to tell")
				}
			})
		})
	}
}

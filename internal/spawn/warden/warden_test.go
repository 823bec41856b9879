package warden

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Wardens that die at once, over and over, are replaced ever more slowly; one
// that has lived makes up for it.
func TestPace(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	var p pace
	var got []time.Duration
	for _, lived := range []time.Duration{
		time.Hour, 0, 10 * ms, 0, 0, 999 * ms, 0, 0, time.Second, time.Hour, 0, 0,
	} {
		got = append(got, p.next(lived))
	}
	want := []time.Duration{
		0, 0, 50 * ms, 100 * ms, 200 * ms, 400 * ms, 10 * time.Second, 10 * time.Second, 0, 0, 0, 50 * ms,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("delays (-want +got):\n%s", diff)
	}
}

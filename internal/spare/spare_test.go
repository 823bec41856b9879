package spare

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/airlock-exec/airlock/internal/limits"
)

func sized(n int) []byte { return make([]byte, n) }

// took is the capacity of what Take returns.
func took(b *Buffers) int { return cap(b.Take()) }

func TestLargestAreKept(t *testing.T) {
	t.Parallel()
	var b Buffers
	defer b.Close()
	if b.Take() != nil {
		t.Error("there is one in the beginning")
	}
	for _, n := range []int{300, 100, 400, 200} {
		b.Keep(sized(n))
	}
	if limits.SpareBuffers != 2 {
		t.Fatal("this test is made for two")
	}
	if buffer := b.Take(); len(buffer) != 0 || cap(buffer) != 400 {
		t.Errorf("the first has %d bytes of %d, want 0 of 400", len(buffer), cap(buffer))
	}
	if got := took(&b); got != 300 {
		t.Errorf("the second has room for %d, want 300", got)
	}
	if got := took(&b); got != 0 {
		t.Errorf("there is a third one, for %d", got)
	}
}

func TestTakeSized(t *testing.T) {
	t.Parallel()
	var b Buffers
	defer b.Close()
	for _, test := range []struct {
		kept, size int
		same       bool
	}{
		{0, 100, false},
		{99, 100, false},
		{100, 100, true},
		{200, 100, true},
		{201, 100, false},
	} {
		var kept []byte
		if test.kept > 0 {
			kept = sized(test.kept)
			b.Keep(kept)
		}
		got := b.TakeSized(test.size)
		if len(got) != test.size || (kept != nil && &got[0] == &kept[0]) != test.same {
			t.Errorf("%d bytes where %d are kept: got %d", test.size, test.kept, len(got))
		}
		if left := b.Take() != nil; left != (kept != nil && !test.same) {
			t.Errorf("%d bytes where %d are kept: kept any more: %v", test.size, test.kept, left)
		}
	}
}

func TestTooLarge(t *testing.T) {
	t.Parallel()
	var b Buffers
	defer b.Close()
	b.Keep(sized(limits.SpareBufferBytes + 1))
	if got := took(&b); got != 0 {
		t.Errorf("kept one of %d bytes", got)
	}
	b.Keep(sized(limits.SpareBufferBytes))
	if got := took(&b); got != limits.SpareBufferBytes {
		t.Errorf("got one of %d bytes, want %d", got, limits.SpareBufferBytes)
	}
}

// Each use puts off the moment at which they are let go.
func TestIdle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var b Buffers
		defer b.Close()
		for range 2 { // also when it has been idle before
			b.Keep(sized(100))
			for range 3 {
				time.Sleep(limits.SpareTimeout - 1)
				buffer := b.Take()
				if buffer == nil {
					t.Fatal("let go too early")
				}
				b.Keep(buffer[:50])
			}
			time.Sleep(limits.SpareTimeout)
			synctest.Wait()
			if b.Take() != nil {
				t.Error("not let go")
			}
		}
	})
}

// A little in a large buffer does not count as a use of it.
func TestIdleInSpite(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var b Buffers
		defer b.Close()
		b.Keep(sized(100))
		for range 5 {
			time.Sleep(limits.SpareTimeout / 5)
			if buffer := b.Take(); buffer != nil {
				b.Keep(buffer[:49])
			}
		}
		synctest.Wait()
		if b.Take() != nil {
			t.Error("not let go")
		}
	})
}

func TestClose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var b Buffers
		b.Keep(sized(100))
		b.Close()
		if b.Take() != nil {
			t.Error("not let go")
		}
		b.Keep(sized(100))
		if b.Take() != nil {
			t.Error("kept after the end")
		}
		b.Close()
	})
}

//go:build !linux

package tree

// bounder has nothing to bound trees with.
type bounder struct{}

func newBounder(Config, Means) *bounder { return nil }

func (*bounder) bind(bounds Bounds) (bound, place, error) {
	limit := "memory"
	if bounds.MemoryBytes == 0 {
		limit = "processes"
	}
	return nil, nil, &UnenforceableError{limit, []string{"this system has no control groups"}}
}

func (*bounder) close() error { return nil }

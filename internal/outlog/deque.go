package outlog

// deque is a queue in a ring that grows as it has to. Its zero value is empty.
type deque[T any] struct {
	items []T // a power of two, so that places are found without division
	head  int
	n     int
}

func (d *deque[T]) len() int { return d.n }

// at returns the item at a place, the oldest being at 0. It stays valid until
// the next push or pop.
func (d *deque[T]) at(i int) *T {
	return &d.items[(d.head+i)&(len(d.items)-1)]
}

func (d *deque[T]) push(item T) {
	if d.n == len(d.items) {
		items := make([]T, max(8, 2*d.n))
		n := copy(items, d.items[d.head:])
		copy(items[n:], d.items[:d.head])
		d.items, d.head = items, 0
	}
	d.n++
	*d.at(d.n - 1) = item
}

// pop removes the oldest n items.
func (d *deque[T]) pop(n int) {
	d.head = (d.head + n) & (len(d.items) - 1)
	d.n -= n
}

// search returns the place of the first item for which found is true, or len.
// If it is true for one, it must be for all after that.
func (d *deque[T]) search(found func(*T) bool) int {
	low, high := 0, d.n
	for low < high {
		middle := int(uint(low+high) / 2)
		if found(d.at(middle)) {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return low
}

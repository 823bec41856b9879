// Package ledger keeps what must be removed when the daemon is gone, on both
// sides of the pipe between the daemon and its warden, and is the language that
// they speak there.
//
// An entry of the language is a line: "+record" puts a record on the ledger,
// "-record" takes it off again. A record is any text up to [MaxRecord] bytes;
// on the wire it is one printable line, quoted as in Go where it is not by
// itself. Lines that make no sense are passed over: a warden that gave up over
// one would leave everything behind.
package ledger

import (
	"cmp"
	"maps"
	"slices"
)

// Ledger holds records in the order in which they came. The zero value is
// empty. It has no lock.
type Ledger struct {
	records map[string]uint64 // with the place of each in the order
	next    uint64
}

// Add puts a record on the ledger. One that is on it already stays where it is.
func (l *Ledger) Add(record string) {
	if _, found := l.records[record]; found {
		return
	}
	if l.records == nil {
		l.records = make(map[string]uint64)
	}
	l.records[record] = l.next
	l.next++
}

// Remove takes a record off the ledger, and tells whether it was on it.
func (l *Ledger) Remove(record string) bool {
	_, found := l.records[record]
	delete(l.records, record)
	return found
}

// Len returns how many records there are.
func (l *Ledger) Len() int { return len(l.records) }

// Records returns all records, the oldest first.
func (l *Ledger) Records() []string {
	return slices.SortedFunc(maps.Keys(l.records), func(a, b string) int {
		return cmp.Compare(l.records[a], l.records[b])
	})
}

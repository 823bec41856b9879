package search

import (
	"bytes"
	"math/bits"
	"regexp/syntax"
)

// hint returns a function that finds something that is in every match of an
// expression, or -1: the place of a byte of it. It is nil if there is no such thing.
func hint(tree *syntax.Regexp) func(data []byte) int {
	all := required(tree)
	if all == nil {
		return nil
	}
	if len(all) == 1 {
		// There is a faster way to find a part of which each byte is known.
		if part := all[0].plain(); len(part) >= min(len(all[0]), 3) {
			return func(data []byte) int { return bytes.Index(data, part) }
		}
	}
	return newFinder(all).index
}

// plain returns the longest part of which each byte is known.
func (t text) plain() []byte {
	var longest, part []byte
	for _, c := range t {
		if c.size() != 1 {
			part = nil
			continue
		}
		for word, set := range c {
			if set != 0 {
				part = append(part, byte(word<<6+bits.TrailingZeros64(set)))
			}
		}
		if len(part) > len(longest) {
			longest = part
		}
	}
	return longest
}

// finder finds the first of some texts, one step for each byte. It is what is known
// as Shift-And: each bit stands for a byte of one of the texts, and is set while all
// of them up to there have just been met.
type finder struct {
	after [256]uint64 // the bits that may be set after a byte
	first uint64      // those of the first bytes of the texts
	last  uint64
}

// newFinder takes as much of each text as there are bits for.
func newFinder(all texts) *finder {
	f := new(finder)
	bit := 0
	for _, t := range all {
		t = t[:min(len(t), 64/len(all))]
		f.first |= 1 << bit
		for _, c := range t {
			for b := range f.after {
				if c.has(byte(b)) {
					f.after[b] |= 1 << bit
				}
			}
			bit++
		}
		f.last |= 1 << (bit - 1)
	}
	return f
}

// index returns where the first of the texts ends, with its last byte, or -1.
func (f *finder) index(data []byte) int {
	first, last, met := f.first, f.last, uint64(0)
	for i, b := range data {
		if met = (met<<1 | first) & f.after[b]; met&last != 0 {
			return i
		}
	}
	return -1
}

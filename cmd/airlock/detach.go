package main

import "io"

// The keys that detach, one after the other.
const (
	firstDetachKey  = 0x10 // Ctrl-P
	secondDetachKey = 0x11 // Ctrl-Q
)

// detachReader reads keys up to those that detach. A first one without the second
// is a key like others; but it is known only with the next one.
type detachReader struct {
	in       io.Reader
	detached func() // called once when they come

	held bool // the first one has been read and not handed out
	over bool
}

// Read implements [io.Reader]. Behind the keys that detach there is nothing more,
// not even an end.
func (r *detachReader) Read(p []byte) (int, error) {
	if r.over {
		return 0, errHangup
	}
	if len(p) < 2 { // room for the one that is held
		return 0, io.ErrShortBuffer
	}
	n, err := r.in.Read(p[1:])
	out := p[:0]
	for i := range n {
		key := p[1+i]
		switch {
		case r.held && key == secondDetachKey:
			r.over = true
			r.detached()
			if len(out) == 0 {
				return 0, errHangup
			}
			return len(out), nil
		case r.held && key == firstDetachKey:
			out = append(out, firstDetachKey)
			continue
		case key == firstDetachKey:
			r.held = true
			continue
		case r.held:
			r.held = false
			out = append(out, firstDetachKey)
		}
		out = append(out, key)
	}
	if err != nil && r.held {
		r.held = false
		out = append(out, firstDetachKey)
	}
	return len(out), err
}

// Package search looks for text in the files below a directory, page by page, and
// reads parts of files.
//
// # Order
//
// The order of everything is that of the bytes of the paths below the root: a
// directory counts as if its name ended with a slash. A cursor is a place in this
// order, so that there is no state between pages: while the tree stands still,
// pages have nothing twice and leave nothing out, wherever they end. A page ends
// when it is full, or when it has taken its time.
//
// # Concurrency
//
// One goroutine walks, several search files ahead of the page, and whoever asks
// for the page takes what they have found, in order. What has not been begun when
// it is needed is done by who needs it: the others only make it faster. A search
// has ended all of its goroutines when it returns.
//
// # What may block
//
// Only directories and regular files are opened, never so that they wait for
// data. A symbolic link is followed at the root alone.
package search

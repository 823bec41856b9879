// Package arch holds tests of the program's structure: which package may
// import which, what is linked into the binary and why, what runs before main,
// and that every package says what it is for.
//
// Each rule is data with a reason beside it. To change a rule is fine; to change
// it without a reason is what these tests are there to prevent.
package arch

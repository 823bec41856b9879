// Package fault holds the tests of what Airlock promises when things go wrong:
// that nothing is lost over cut cables and stalled readers, and that nothing is
// left behind whoever is killed. They run the real program, most of them as
// processes of its own, behind a cable that can be damaged. The faults are made
// with what Linux has.
package fault

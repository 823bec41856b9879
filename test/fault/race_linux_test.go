//go:build race

package fault

// share is the divisor of the volumes of the tests called TestVolume…. The race
// detector makes the test's own end of a connection ten times slower and finds as
// much in a part of the volume. The parts are still more than what the tests allow:
// a daemon that kept all of it in its memory would be found out. `make volume` runs
// these tests whole, without the race detector.
const share = 4

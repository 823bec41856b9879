//go:build !race

package fault

// share is the divisor of the volumes of the tests called TestVolume…: see
// race_linux_test.go.
const share = 1

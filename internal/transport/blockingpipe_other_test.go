//go:build !unix

package transport

import (
	"os"
	"testing"
)

// blockingPipe returns a pipe that can't be interrupted, which all are here.
func blockingPipe(t *testing.T) (r, w *os.File) { return osPipe(t) }

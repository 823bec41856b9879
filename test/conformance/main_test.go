package conformance_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/airlock-exec/airlock/server"
)

func TestMain(m *testing.M) {
	server.RunHelper() // the executors of these tests execute this program as theirs
	goleak.VerifyTestMain(m)
}

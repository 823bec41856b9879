package confined

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/airlock-exec/airlock/internal/helper"
)

func TestMain(m *testing.M) {
	RunIfWorker() // the tests execute this program as a worker
	helper.RunIfHelper()
	goleak.VerifyTestMain(m)
}

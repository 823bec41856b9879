package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/airlock-exec/airlock/internal/helper"
)

// examineVariable makes the test binary print a report instead of testing.
const examineVariable = "AIRLOCK_DOCTOR_TEST_EXAMINE"

func TestMain(m *testing.M) {
	helper.RunIfHelper()
	if os.Getenv(examineVariable) != "" {
		report, err := Examine(context.Background())
		if err == nil {
			err = json.NewEncoder(os.Stdout).Encode(report)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// Whatever this machine is like, its report makes sense.
func TestHere(t *testing.T) {
	t.Parallel()
	r, err := Examine(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range probes() {
		c := r.Checks[i]
		t.Logf("%-7s %-18s %s", c.Status, c.Name, c.Found)
		if c.Name != p.name || c.Found == "" {
			t.Errorf("%+v", c)
		}
	}
}

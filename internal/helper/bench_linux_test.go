package helper

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/airlock-exec/airlock/internal/helper/plan"
)

// buildHelper builds the helper as a release has it, and returns its file.
func buildHelper(b *testing.B) string {
	b.Helper()
	file := filepath.Join(b.TempDir(), Name)
	cmd := exec.CommandContext(b.Context(), "go", "build", "-trimpath", "-ldflags=-s -w", "-o", file, "../../cmd/airlock-helper")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("building the helper: %v\n%s", err, out)
	}
	return file
}

// BenchmarkSandbox measures /bin/true from the fork to the answer, and to the end:
// alone, confined by a helper that is started for it, and by one that waits.
func BenchmarkSandbox(b *testing.B) {
	file := buildHelper(b)
	p := &plan.Plan{Path: "/bin/true", Argv: []string{"true"}, Dir: "/", Confine: readOnly()}
	b.Run("bare", func(b *testing.B) {
		for b.Loop() {
			if err := exec.CommandContext(b.Context(), "/bin/true").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("cold", func(b *testing.B) {
		for b.Loop() {
			s := prepareFile(b, file, true, true)
			s.assign(p)
			if a := s.answer(); a.Step != plan.Executing {
				b.Fatal(a)
			}
			s.end()
			s.close()
		}
	})
	b.Run("prepared", func(b *testing.B) {
		var sum time.Duration
		for b.Loop() {
			b.StopTimer()
			s := prepareFile(b, file, true, true)
			s.settle()
			b.StartTimer()
			began := time.Now()
			s.assign(p)
			if a := s.answer(); a.Step != plan.Executing {
				b.Fatal(a)
			}
			sum += time.Since(began)
			s.end()
			b.StopTimer()
			s.close()
			b.StartTimer()
		}
		b.ReportMetric(float64(sum.Microseconds())/float64(b.N), "µs/answer")
	})
}

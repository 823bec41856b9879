package spawn

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/airlock-exec/airlock/internal/spawn/tree"
)

func init() { helpers["terminations"] = helperTerminations }

// However many processes withstand, to wait for their ends costs little, also where
// members have to be looked for among all processes of the system: each looked for
// itself once, and 50 took two processors.
func TestTerminationsAreCheap(t *testing.T) {
	t.Parallel()
	report(t, "terminations", "")
}

// processorTime returns what this program has used.
func processorTime() time.Duration {
	var u unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func helperTerminations() {
	s := New(Config{Means: tree.Walk})
	defer s.Close()
	const (
		n     = 50
		grace = 3 * time.Second
	)
	var ends sync.WaitGroup
	var processes []*Process
	// Half of them go on to start processes whose parents are dead, so that there
	// are always members that have not been seen.
	for i := range n {
		script := "trap '' TERM; echo ready; while :; do sleep 1000; done"
		if i%2 == 0 {
			script = "exec 2>/dev/null; trap '' TERM; hop() { sleep 0.2; (hop &) }; echo ready; hop"
		}
		r := newRecord()
		p, err := startFor(s, shell(script), r)
		if err != nil {
			fmt.Println(err)
			return
		}
		for r.text(Stdout) == "" {
			<-time.After(time.Millisecond)
		}
		processes = append(processes, p)
		ends.Go(func() { <-r.closed })
	}
	began, before := time.Now(), processorTime()
	var all sync.WaitGroup
	for _, p := range processes {
		all.Go(func() { p.Terminate(context.Background(), grace) })
	}
	all.Wait()
	took, used := time.Since(began), processorTime()-before
	ends.Wait()
	// A tenth for looks; the signals and the deaths cost, too.
	if share := float64(used) / float64(took); share > 0.5 {
		fmt.Printf("%d terminations took %v of processor time in %v, %.0f%%\n", n, used, took, 100*share)
		return
	}
	fmt.Println("ok")
}

package watch

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/airlock-exec/airlock/internal/files/glob"
	"github.com/airlock-exec/airlock/protocol"
)

// TestBusy: several programs change a tree at once, faster than directories can be
// looked at, while one client after the other comes, and one takes its time. In the
// end each believes what is there.
func TestBusy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	budget := new(Budget)
	filter, err := glob.Compile(nil, nil)
	must(t, err)
	var clients []*client
	var beliefs []*belief
	come := func() {
		c := connect(t, budget)
		c.pending = 50 * changeBytes
		c.watch(protocol.WatchParams{Path: uri(t, dir), Recursive: true})
		b := &belief{paths: map[string]bool{}, filter: filter}
		b.rescan(dir)
		clients, beliefs = append(clients, c), append(beliefs, b)
	}
	come()
	var programs sync.WaitGroup
	for seed := range uint64(3) {
		programs.Go(func() { churn(dir, rand.New(rand.NewPCG(seed, 0))) })
	}
	come()
	clients[0].settle(dir, beliefs[0])
	come()
	programs.Wait()
	for i, c := range clients {
		c.settle(dir, beliefs[i])
		got := unmarked(beliefs[i])
		want := belief{paths: map[string]bool{}, filter: filter}
		want.rescan(dir)
		if diff := cmp.Diff(unmarked(&want), got); diff != "" {
			t.Errorf("client %d believes otherwise:\n%s", i, diff)
		}
	}
}

// unmarked returns what is believed without the markers of other clients.
func unmarked(b *belief) map[string]bool {
	paths := maps.Clone(b.paths)
	maps.DeleteFunc(paths, func(path string, _ bool) bool { return path[0] == '~' })
	return paths
}

// churn makes, moves and removes.
func churn(dir string, random *rand.Rand) {
	path := func() string {
		path := dir
		for range 1 + random.IntN(4) {
			path = filepath.Join(path, fmt.Sprint(random.IntN(4)))
		}
		return path
	}
	for range 1000 {
		switch at := path(); random.IntN(5) {
		case 0, 1:
			_ = os.MkdirAll(at, 0o755)
		case 2:
			_ = os.WriteFile(at, nil, 0o600)
		case 3:
			_ = os.Rename(at, path())
		case 4:
			_ = os.RemoveAll(at)
		}
	}
}

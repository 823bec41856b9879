package transfer

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/airlock-exec/airlock/client"
	"github.com/airlock-exec/airlock/internal/transport"
	"github.com/airlock-exec/airlock/protocol"
	"github.com/airlock-exec/airlock/server"
)

func TestMain(m *testing.M) {
	server.RunHelper()
	goleak.VerifyTestMain(m)
}

// cable connects to an executor, and can be cut.
type cable struct {
	executor *server.Server
	mu       sync.Mutex
	conn     transport.Conn
}

func (c *cable) Connect(ctx context.Context) (transport.Conn, error) {
	conn, err := c.executor.Connect(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.conn = conn
	return conn, err
}

func (c *cable) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.conn.Close(nil)
}

// kit is a mover over a cable, and what it has told.
type kit struct {
	*Mover
	*cable
	moved atomic.Int64
	told  []error
}

// newKit makes an executor without some features, and a mover. The connection is not
// made again when it is lost.
func newKit(t *testing.T, disabled ...string) *kit {
	t.Helper()
	executor := server.New(server.Config{Disable: disabled})
	t.Cleanup(executor.Close)
	k := &kit{cable: &cable{executor: executor}}
	e, err := client.Connect(t.Context(), k.cable, client.Options{ReconnectTimeout: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	k.Mover = &Mover{
		Files: e.Files(), Info: e.Info(),
		Moved: func(n int64) { k.moved.Add(n) },
		Tell:  func(err error) { k.told = append(k.told, err) },
	}
	return k
}

// after has something done when so many bytes have been moved.
func (k *kit) after(bytes int64, do func()) {
	var once sync.Once
	k.Moved = func(n int64) {
		if k.moved.Add(n) >= bytes {
			once.Do(do)
		}
	}
}

func uriOf(t *testing.T, path string) protocol.PathURI {
	t.Helper()
	uri, err := protocol.PathURIFromNative(path)
	if err != nil {
		t.Fatal(err)
	}
	return uri
}

// noise returns bytes that have no order.
func noise(n int) []byte {
	source := rand.NewChaCha8([32]byte{1})
	data := make([]byte, n)
	_, _ = source.Read(data)
	return data
}

func write(t *testing.T, path string, data []byte) string {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// wantFile asserts what a file holds, and that there is no part beside it.
func wantFile(t *testing.T, path string, want []byte) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(got, want) {
		same := 0
		for same < min(len(got), len(want)) && got[same] == want[same] {
			same++
		}
		t.Errorf("%s: %d bytes, %v; want %d, of which the first %d are right", path, len(got), err, len(want), same)
	}
	wantParts(t, filepath.Dir(path), 0)
}

// wantParts asserts how many parts there are in a directory.
func wantParts(t *testing.T, dir string, want int) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	parts := 0
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") && strings.Contains(e.Name(), ".airlock-") {
			parts++
		}
	}
	if parts != want {
		t.Errorf("%s has %d parts, want %d: %v", dir, parts, want, entries)
	}
}

// both runs a test for each direction. Move moves a file.
func both(t *testing.T, test func(t *testing.T, move func(k *kit, ctx context.Context, from, to string) error)) {
	t.Run("put", func(t *testing.T) {
		test(t, func(k *kit, ctx context.Context, from, to string) error { return k.Put(ctx, from, uriOf(t, to)) })
	})
	t.Run("get", func(t *testing.T) {
		test(t, func(k *kit, ctx context.Context, from, to string) error { return k.Get(ctx, uriOf(t, from), to) })
	})
}

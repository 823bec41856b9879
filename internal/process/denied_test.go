package process

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/airlock-exec/airlock/internal/helper/plan"
	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/internal/outlog"
	"github.com/airlock-exec/airlock/internal/spawn"
	"github.com/airlock-exec/airlock/protocol"
)

// said is a chunk of output.
type said struct {
	stream spawn.Stream
	text   string
}

func out(text string) said { return said{spawn.Stdout, text} }
func bad(text string) said { return said{spawn.Stderr, text} }

// TestLooksDenied: the guess of the dialect, in what programs say and by which
// code they exit.
func TestLooksDenied(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		code   int
		output []said
		want   bool
	}{
		{"nothing is wrong", 0, []said{out("permission denied")}, false},
		{"a plain failure", 1, nil, false},
		{"not executable", 126, nil, false},
		{"not found", 127, nil, false},
		{"killed", 137, nil, false},
		{"terminated", 143, nil, false},
		{"a bad system call", 159, nil, true},
		{"no such file", 2, []said{bad("ls: cannot access '/missing': No such file or directory")}, false},
		{"a keyword comes before the code", 127, []said{bad("permission denied")}, true},
		{"the code is not known", -1, []said{bad("permission denied")}, true},
		{"any case", 1, []said{bad("sh: here: Read-Only File System\n")}, true},
		{"operation not permitted", 1, []said{bad("Operation not permitted")}, true},
		{"seccomp", 1, []said{out("SECCOMP")}, true},
		{"sandbox", 1, []said{out("a sandboxed thing")}, true},
		{"landlock", 1, []said{out("Landlock")}, true},
		{"landlock with a sign for degrees", 1, []said{out("LANDLOC\u212a")}, true},
		{"failed to write file", 1, []said{out("Failed to write file x")}, true},
		{"the terminal", 1, []said{{spawn.Terminal, "Permission denied\r\n"}}, true},
		{"nearly", 1, []said{out("permission  denied, read only file system, sand box")}, false},
		{"in two chunks", 1, []said{out("permission d"), out("enied")}, true},
		{"across streams", 1, []said{out("permission "), bad("denied")}, true},
		{"of a stream that another one interrupts", 1, []said{bad("permission "), out("hello"), bad("denied")}, true},
		{"the wrong way round", 1, []said{out("denied "), bad("permission ")}, false},
		{"among what is no text", 1, []said{out("\xff\xfepermission denied\x80")}, true},
		{"broken up by what is no text", 1, []said{out("permission\xff denied")}, false},
	} {
		chunks := make([]outlog.Chunk, len(test.output))
		for i, s := range test.output {
			chunks[i] = outlog.Chunk{Stream: s.stream, Data: []byte(s.text)}
		}
		if got := looksDenied(test.code, chunks); got != test.want {
			t.Errorf("%s: %v", test.name, got)
		}
	}
}

// TestSpeaksOfDenial compares with the plain way to do the same.
func TestSpeaksOfDenial(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.OneOf(
			rapid.SampledFrom([]string{"Permission denied", "SANDBOX", "landloc\u212a", "read-only file ", "system", "seccomp"}),
			rapid.StringN(0, 10, 20),
		), 0, 3).Draw(t, "words"), "")
		var chunks []outlog.Chunk
		var texts [4]strings.Builder
		for text != "" {
			n := rapid.IntRange(1, len(text)).Draw(t, "length")
			stream := rapid.IntRange(0, 2).Draw(t, "stream")
			chunks = append(chunks, outlog.Chunk{Stream: outlog.Stream(stream), Data: []byte(text[:n])})
			texts[stream].WriteString(text[:n])
			texts[3].WriteString(text[:n])
			text = text[n:]
		}
		want := false
		for i := range texts {
			lower := strings.ToLower(strings.ToValidUTF8(texts[i].String(), "\ufffd"))
			for _, word := range denialWords {
				want = want || strings.Contains(lower, word)
			}
		}
		if got := speaksOfDenial(chunks); got != want {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}

// startConfined starts a process that is confined and returns its child.
func (r *rig) startConfined(id string, extra *protocol.StartExtra) *fakeChild {
	r.Helper()
	return r.startWith(&protocol.StartParams{ProcessID: id, Sandbox: protocol.FullAccessSandbox(), Airlock: extra})
}

// exitOf takes the events of a process up to its exit.
func exitOf(t *testing.T, f *Feed) Event {
	t.Helper()
	for {
		if e, ok := f.Next(nil); !ok || e.Kind == EventExited {
			return e
		}
	}
}

// TestSandboxDenied: the exit tells, and each read after it, those of a client
// that has come back included; only of who was confined.
func TestSandboxDenied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		f := r.table.Attach(0)
		begun := time.Now()
		free := r.start("free")
		free.events.Output(spawn.Stderr, []byte("permission denied"))
		free.end(1)
		if e := exitOf(t, f); e.SandboxDenied {
			t.Errorf("without a sandbox: %+v", e)
		}
		c := r.startConfined("p", nil)
		c.events.Output(spawn.Stderr, []byte("permission denied"))
		if r.read("p", 0).SandboxDenied {
			t.Error("denied before the exit")
		}
		c.end(1)
		if e := exitOf(t, f); !e.SandboxDenied {
			t.Errorf("the exit does not tell: %+v", e)
		}
		r.table.Attach(0)
		for after := range uint64(4) {
			if got := r.read("p", after); !got.SandboxDenied || got.Airlock != nil {
				t.Errorf("a read after %d: %+v", after, got)
			}
		}
		if time.Since(begun) != 0 {
			t.Error("something has waited")
		}
	})
}

// TestSandboxDeniedEvicted: only what a Codex exec-server would still have is
// searched, wherever it is kept.
func TestSandboxDeniedEvicted(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		behind int // bytes after the word
		chunk  int
		want   bool
	}{
		{limits.RetainedBytes - 100, limits.ChunkBytes, true},
		{limits.RetainedBytes - 64<<10, 4 << 10, true},
		{limits.RetainedBytes, limits.ChunkBytes, false},
		{2 << 20, limits.ChunkBytes, false},
		{limits.RetainedChunks - 1, 1, true},
		{limits.RetainedChunks, 1, false},
	} {
		launcher := newFakeLauncher()
		table := NewTable(Config{Retention: time.Hour, MaxProcesses: 1, Log: outlog.Config{
			Spill: outlog.NewSpill(t.TempDir(), 8<<20, 8<<20, func(err error) { t.Error(err) }),
		}}, launcher)
		r := &rig{t, table, launcher}
		c := r.startConfined("p", nil)
		c.events.Output(spawn.Terminal, []byte("permission denied"))
		for left := test.behind; left > 0; left -= test.chunk {
			// In turn, so that they do not become larger chunks.
			c.events.Output(spawn.Stream(left/test.chunk%2), make([]byte, min(left, test.chunk)))
		}
		c.end(1)
		reading, err := table.Read(&protocol.ReadParams{ProcessID: "p", MaxBytes: new(uint64(1))})
		if err != nil {
			t.Fatal(err)
		}
		if got := reading.Result.SandboxDenied; got != test.want {
			t.Errorf("%d bytes in chunks of %d behind it: %v", test.behind, test.chunk, got)
		}
		table.Close()
	}
}

// TestLastWord: while others hold the streams of a process that has failed, one
// more thing that they say is waited for, for a little, and not when they let go.
func TestLastWord(t *testing.T) {
	for _, test := range []struct {
		name string
		say  time.Duration // when; 0: never
		hush time.Duration // when all streams end; 0: never
		want bool
		took time.Duration
	}{
		{"in time", 10 * time.Millisecond, 0, true, 10 * time.Millisecond},
		{"too late", 200 * time.Millisecond, 0, false, 20 * time.Millisecond},
		{"never", 0, 0, false, 20 * time.Millisecond},
		{"the end", 0, 5 * time.Millisecond, false, 5 * time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			c := r.startConfined("p", nil)
			c.lingered = true
			if test.say > 0 {
				time.AfterFunc(test.say, func() { c.events.Output(spawn.Stderr, []byte("Permission denied")) })
			}
			if test.hush > 0 {
				time.AfterFunc(test.hush, func() { close(c.silent) })
			}
			begun := time.Now()
			c.events.Exited(1)
			if took := time.Since(begun); took != test.took {
				t.Errorf("%s: the exit took %v", test.name, took)
			}
			if got := r.read("p", 0); got.SandboxDenied != test.want {
				t.Errorf("%s: %+v", test.name, got)
			}
			time.Sleep(time.Second)
			c.events.Closed()
		})
	}
}

// TestDenials: what was denied is told with the exit, put together and bounded,
// and so is a sandbox that could not be set up.
func TestDenials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		f := r.table.Attach(0)
		quiet := r.startConfined("q", nil)
		quiet.denials = []plan.Denial{{What: "connect", Count: 1}}
		quiet.end(0)
		if e := exitOf(t, f); e.Denials != nil || r.read("q", 0).Airlock != nil {
			t.Errorf("told who has not asked: %+v", e)
		}
		c := r.startConfined("p", &protocol.StartExtra{})
		c.denials = []plan.Denial{
			{What: "connect", Path: "/run/x.sock", Count: 4}, {What: "socket", Address: "AF_INET", Count: 1}, {What: "\xff", Count: 1},
		}
		c.failure = &spawn.SetupFailure{Stage: "mounts", Message: "no"}
		c.events.Output(spawn.Stdout, []byte("sandbox"))
		if got := r.read("p", 0); got.Airlock != nil {
			t.Errorf("before the exit: %+v", got.Airlock)
		}
		c.end(1)
		denials := []protocol.Denial{
			{What: "connect", Path: "/run/x.sock", Count: 4},
			{What: "socket", Address: "AF_INET", Count: 1},
			{What: "\ufffd", Count: 1},
		}
		failure := &protocol.SetupError{Stage: "mounts", Message: "no"}
		e := exitOf(t, f)
		if e.ProcessID != "p" {
			t.Fatalf("got %+v", e)
		}
		if diff := cmp.Diff(denials, e.Denials); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(failure, e.SetupError); diff != "" || e.SandboxDenied {
			t.Errorf("denied %v; %s", e.SandboxDenied, diff)
		}
		want := &protocol.ReadExtra{Denials: denials, SetupError: failure}
		for after := range uint64(3) {
			if diff := cmp.Diff(want, r.read("p", after).Airlock); diff != "" {
				t.Errorf("a read after %d: %s", after, diff)
			}
		}
		if e, ok := f.Next(nil); !ok || e.Kind != EventClosed || e.Denials != nil || e.SetupError != nil {
			t.Errorf("the close: %+v", e)
		}
	})
}

func TestDenialsAreBounded(t *testing.T) {
	t.Parallel()
	var seen []plan.Denial
	for i := range 10 * limits.DenialKinds {
		seen = append(seen, plan.Denial{What: fmt.Sprint(i), Path: strings.Repeat("x", 10*limits.DenialTextBytes), Count: 5})
	}
	got := wireDenials(seen)
	if len(got) != limits.DenialKinds || len(got[0].Path) != limits.DenialTextBytes || got[0].Count != 5 {
		t.Errorf("%d denials, the first with a path of %d bytes, %d times", len(got), len(got[0].Path), got[0].Count)
	}
}

// TestTier: a client of ours learns what confines its process, and one that knows
// nothing of us only of what is weaker.
func TestTier(t *testing.T) {
	r := newRig(t)
	n := 0
	for _, test := range []struct {
		tier  protocol.SandboxTier
		extra *protocol.StartExtra
		want  protocol.SandboxTier
	}{
		{protocol.TierNamespaces, nil, ""},
		{protocol.TierSeccomp, nil, ""},
		{protocol.TierNone, nil, ""},
		{protocol.TierLandlock, nil, protocol.TierLandlock},
		{protocol.TierNamespaces, &protocol.StartExtra{}, protocol.TierNamespaces},
		{protocol.TierNone, &protocol.StartExtra{}, protocol.TierNone},
		{"", &protocol.StartExtra{}, ""},
	} {
		r.launcher.confined = Confined{Type: protocol.SandboxLinuxSeccomp, Tier: test.tier}
		n++
		s, err := r.table.Start(&protocol.StartParams{ProcessID: fmt.Sprint(n), Airlock: test.extra})
		if err != nil {
			t.Fatal(err)
		}
		result, err := s.Run()
		if err != nil {
			t.Fatal(err)
		}
		want := &protocol.StartResult{ProcessID: fmt.Sprint(n), SandboxType: new(protocol.SandboxLinuxSeccomp)}
		if test.want != "" {
			want.Airlock = &protocol.StartResultExtra{SandboxTier: test.want}
		}
		if diff := cmp.Diff(want, result); diff != "" {
			t.Errorf("%s, %v: %s", test.tier, test.extra, diff)
		}
	}
}

// TestSandboxFeaturesOff: what is switched off is not told.
func TestSandboxFeaturesOff(t *testing.T) {
	launcher := newFakeLauncher()
	launcher.confined = Confined{Type: protocol.SandboxLinuxSeccomp, Tier: protocol.TierLandlock}
	table := NewTable(Config{Retention: time.Hour, MaxProcesses: 1}, launcher)
	t.Cleanup(table.Close)
	s, err := table.Start(&protocol.StartParams{ProcessID: "p", Sandbox: protocol.FullAccessSandbox(), Airlock: &protocol.StartExtra{}})
	if err != nil {
		t.Fatal(err)
	}
	if result, err := s.Run(); err != nil || result.Airlock != nil {
		t.Errorf("%+v, %v", result, err)
	}
	c := <-launcher.children
	c.denials, c.failure = []plan.Denial{{What: "connect"}}, &spawn.SetupFailure{}
	c.end(1)
	reading, err := table.Read(&protocol.ReadParams{ProcessID: "p"})
	if err != nil || reading.Result.Airlock != nil {
		t.Errorf("%+v, %v", reading.Result, err)
	}
}

// BenchmarkSpeaksOfDenial is the most there is to search at an exit.
func BenchmarkSpeaksOfDenial(b *testing.B) {
	var chunks []outlog.Chunk
	random := rand.New(rand.NewPCG(1, 2))
	for range limits.RetainedBytes / 256 {
		data := make([]byte, 256)
		for i := range data {
			data[i] = byte('a' + random.IntN(26))
		}
		chunks = append(chunks, outlog.Chunk{Stream: outlog.Stream(random.IntN(2)), Data: data})
	}
	b.SetBytes(limits.RetainedBytes)
	for b.Loop() {
		if speaksOfDenial(chunks) {
			b.Fatal("found")
		}
	}
}

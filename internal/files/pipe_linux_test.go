package files

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/airlock-exec/airlock/protocol"
)

// TestPipesAreLeftAlone: whoever is at the other end of a pipe, and waits for
// somebody, does not take us for him. A reader that has found one and lost him again
// is told that there is no more to read, a writer gets an error.
func TestPipesAreLeftAlone(t *testing.T) {
	f := connection(t)
	dir := folder(t)
	pipe := dir + "/pipe"
	must(t, unix.Mkfifo(pipe, 0o600))
	link(t, "pipe", dir+"/link")
	put(t, dir+"/f", "x")
	opened, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	must(t, err)
	defer unix.Close(opened)
	_, err = unix.InotifyAddWatch(opened, pipe, unix.IN_OPEN)
	must(t, err)
	reader, err := os.OpenFile(pipe, os.O_RDONLY|unix.O_NONBLOCK, 0)
	must(t, err)
	defer reader.Close()
	event := make([]byte, 4<<10)
	if _, err := unix.Read(opened, event); err != nil {
		t.Fatalf("what opens the pipe is not seen: %v", err)
	}

	ctx := t.Context()
	data := protocol.FileData{Bytes: []byte("a")}
	for name, do := range map[string]func(protocol.PathURI) error{
		"read": func(u protocol.PathURI) error {
			_, err := readWhole(ctx, f, nil, &protocol.ReadFileParams{Path: u})
			return err
		},
		"read, no follow": func(u protocol.PathURI) error {
			_, err := readWhole(ctx, f, nil, &protocol.ReadFileParams{Path: u, FollowSymlinks: no()})
			return err
		},
		"write": func(u protocol.PathURI) error {
			_, err := f.WriteFile(ctx, &protocol.WriteFileParams{Path: u, DataBase64: data})
			return err
		},
		"write, no follow": func(u protocol.PathURI) error {
			_, err := f.WriteFile(ctx, &protocol.WriteFileParams{Path: u, DataBase64: data, FollowSymlinks: no()})
			return err
		},
		"open": func(u protocol.PathURI) error {
			_, err := f.Open(ctx, &protocol.OpenFileParams{HandleID: "h", Path: u})
			return err
		},
		"open to replace": func(u protocol.PathURI) error {
			_, err := f.Open(ctx, &protocol.OpenFileParams{HandleID: "h", Path: u, Mode: protocol.OpenReplace})
			return err
		},
		"copy onto it": func(u protocol.PathURI) error {
			_, err := f.Copy(ctx, &protocol.CopyParams{SourcePath: uri(t, dir+"/f"), DestinationPath: u})
			return err
		},
	} {
		for _, at := range []string{pipe, dir + "/link"} {
			if do(uri(t, at)) == nil {
				t.Errorf("%s of %s: has been done", name, at)
			}
			if n, _ := unix.Read(opened, event); n > 0 {
				t.Errorf("%s of %s: it has been opened", name, at)
			}
		}
	}
}

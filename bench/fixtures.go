package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
)

// fixtures are what measures need beside the contestants. Each is made when it
// is first asked for, and then stays the same for the whole run.
type fixtures struct {
	dir   string
	hello *target
	least *target
	file  *contents
	tree  string
}

// newFixtures makes the folder for them. The caller removes it.
func newFixtures() (*fixtures, error) {
	dir, err := os.MkdirTemp("", "airlock-bench-")
	if err != nil {
		return nil, fmt.Errorf("making a folder to work in: %w", err)
	}
	return &fixtures{dir: dir}, nil
}

func (f *fixtures) remove() error { return os.RemoveAll(f.dir) }

// helloSource is the least Go program that does what a measure waits for: it
// prints a line that looks like a URL and stays. What it takes to start, to
// keep in memory and on disk is the floor for a server in Go.
const helloSource = `package main

import (
	"fmt"
	"time"
)

func main() {
	fmt.Println("ws://hello")
	time.Sleep(time.Hour)
}
`

// buildHello returns the least Go program as something that starts like a
// server.
func (f *fixtures) buildHello(ctx context.Context) (_ *target, err error) {
	if f.hello == nil {
		f.hello, err = f.build(ctx, "hello", helloSource)
	}
	return f.hello, err
}

// buildLeast returns the least server: see least.go.
func (f *fixtures) buildLeast(ctx context.Context) (_ *target, err error) {
	if f.least == nil {
		f.least, err = f.build(ctx, "least", leastSource)
	}
	return f.least, err
}

// build builds a program of one file with the options that Airlock is built with.
func (f *fixtures) build(ctx context.Context, name, source string) (*target, error) {
	if _, err := exec.LookPath("go"); err != nil {
		return nil, fmt.Errorf("%w: the Go command, which builds the floor, is not installed", errNotAvailable)
	}
	file, program := filepath.Join(f.dir, name+".go"), filepath.Join(f.dir, name)
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
		return nil, err
	}
	if err := goBuild(ctx, "-o", program, file); err != nil {
		return nil, fmt.Errorf("building the floor, %s: %w", name, err)
	}
	return &target{name: bareName, argv: []string{program}}, nil
}

// contents is a file and what is in it.
type contents struct {
	path string
	data []byte
}

// makeFile makes a file of fileMiB MiB that does not compress.
func (f *fixtures) makeFile() (*contents, error) {
	if f.file != nil {
		return f.file, nil
	}
	random := rand.NewChaCha8([32]byte{})
	data := make([]byte, fileMiB*mebibyte)
	_, _ = random.Read(data) // it never fails
	path := filepath.Join(f.dir, "file")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		return nil, err
	}
	f.file = &contents{path, data}
	return f.file, nil
}

// makeTree makes a folder with treeDirs folders of treeFiles files each.
func (f *fixtures) makeTree() (string, error) {
	if f.tree != "" {
		return f.tree, nil
	}
	root := filepath.Join(f.dir, "tree")
	for d := range treeDirs {
		dir := filepath.Join(root, fmt.Sprintf("folder-%02d", d))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return "", err
		}
		for n := range treeFiles {
			name := filepath.Join(dir, "file-"+strconv.Itoa(n)+".txt")
			if err := os.WriteFile(name, nil, 0o600); err != nil {
				return "", err
			}
		}
	}
	f.tree = root
	return root, nil
}

// goBuild builds without symbols and without paths of this machine, as releases
// are built.
func goBuild(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", append([]string{"build", "-trimpath", "-ldflags=-s -w"}, args...)...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, bytes.TrimSpace(out))
	}
	return nil
}

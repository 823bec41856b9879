package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// fixtures are what measures need beside the contestants. Each is made when it
// is first asked for, and then stays the same for the whole run.
type fixtures struct {
	dir   string
	hello *target
	least *target
	file  *contents
	tree  tree
	large tree
}

// newFixtures makes the folder for them. The caller removes it.
func newFixtures() (*fixtures, error) {
	dir, err := os.MkdirTemp("", "airlock-bench-")
	if err != nil {
		return nil, fmt.Errorf("making a folder to work in: %w", err)
	}
	return &fixtures{dir: dir}, nil
}

func (f *fixtures) remove() error {
	err := os.RemoveAll(f.dir)
	if f.large.root != "" {
		err = errors.Join(err, os.RemoveAll(f.large.root))
	}
	return err
}

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

// makeWorkspace makes a directory for a contestant to work in, with a repository in
// it, of which the rest of the protected names are missing.
func (f *fixtures) makeWorkspace(name string) (dir string, err error) {
	dir = filepath.Join(f.dir, "workspace-"+name)
	return dir, os.MkdirAll(filepath.Join(dir, ".git"), 0o700)
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

// tree is a folder with folders of files. The names of either have one length.
type tree struct {
	root        string
	dirs, files int // files in each folder
	dir, file   string
}

// makeTree makes the tree of the design's table.
func (f *fixtures) makeTree() (tree, error) {
	if f.tree.root != "" {
		return f.tree, nil
	}
	t := tree{filepath.Join(f.dir, "tree"), treeDirs, treeFiles, "folder-%02d", "file-%02d.txt"}
	err := t.make()
	if err == nil {
		f.tree = t
	}
	return t, err
}

// makeLargeTree makes a tree of which an answer holds some 45,000 entries. It has
// a short name, since names count.
func (f *fixtures) makeLargeTree() (tree, error) {
	if f.large.root != "" {
		return f.large, nil
	}
	root, err := os.MkdirTemp("", "a")
	if err != nil {
		return tree{}, err
	}
	t := tree{root, 100, 490, "%02d", "%03d"}
	if err := t.make(); err != nil {
		return tree{}, errors.Join(err, os.RemoveAll(root))
	}
	f.large = t
	return t, nil
}

func (t tree) make() error {
	for d := range t.dirs {
		dir := filepath.Join(t.root, fmt.Sprintf(t.dir, d))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		for n := range t.files {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf(t.file, n)), nil, 0o600); err != nil {
				return err
			}
		}
	}
	return nil
}

// listed is how many of its files an answer to fs/walk names. The protocol bounds
// the names in one, and what each costs besides.
func (t tree) listed() int {
	const most, besides = 4 << 20, 64
	dir := fileURI(filepath.Join(t.root, fmt.Sprintf(t.dir, 0)))
	file := dir + "/" + fmt.Sprintf(t.file, 0)
	room := most - t.dirs*(len(dir)+besides) // folders come first
	return min(t.dirs*t.files, room/(len(file)+besides))
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

package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// What the file methods are asked for: the sizes of the design's table.
const (
	fileMiB   = 4
	treeDirs  = 50
	treeFiles = 100 // in each of them
)

// readFile reads the same file again and again. What comes must be the file.
func readFile(ctx context.Context, t *target, n sizes) (sample, error) {
	file, err := n.fixtures.makeFile()
	if err != nil {
		return nil, err
	}
	want := base64.StdEncoding.AppendEncode(nil, file.data)
	params := map[string]string{"path": fileURI(file.path)}
	var s sample
	err = t.withClient(ctx, nil, func(c *client, _ *instance) (err error) {
		s, err = readRate(n.reads, func() error {
			result, err := c.ask("fs/readFile", params)
			if err != nil {
				return err
			}
			if got, ok := scanString(result, `"dataBase64":"`); !ok || !bytes.Equal(got, want) {
				return fmt.Errorf("fs/readFile: got %d bytes that are not the file", len(result))
			}
			return nil
		})
		return err
	})
	return s, err
}

// bareReadFile is the least a server has to do: read the file, and write it the
// way it travels.
func bareReadFile(_ context.Context, n sizes) (sample, error) {
	file, err := n.fixtures.makeFile()
	if err != nil {
		return nil, err
	}
	var encoded []byte
	return readRate(n.reads, func() error {
		data, err := os.ReadFile(file.path)
		encoded = base64.StdEncoding.AppendEncode(encoded[:0], data)
		return err
	})
}

// readRate runs f, which reads the file once, n times.
func readRate(n int, f func() error) (sample, error) {
	for range warmUps {
		if err := f(); err != nil {
			return nil, err
		}
	}
	begin := time.Now()
	for range n {
		if err := f(); err != nil {
			return nil, err
		}
	}
	return sample{"rate": perSecond(float64(n*fileMiB), begin)}, nil
}

// walkOptions ask for everything there is.
type walkOptions struct {
	MaxDepth                int  `json:"maxDepth"`
	MaxDirectories          int  `json:"maxDirectories"`
	MaxEntries              int  `json:"maxEntries"`
	FollowDirectorySymlinks bool `json:"followDirectorySymlinks"`
}

// walk lists the same tree again and again. All of it must come.
func walk(ctx context.Context, t *target, n sizes) (s sample, err error) {
	root, err := n.fixtures.makeTree()
	if err != nil {
		return nil, err
	}
	params := struct {
		Path    string      `json:"path"`
		Options walkOptions `json:"options"`
	}{fileURI(root), walkOptions{MaxDepth: 8, MaxDirectories: 1000, MaxEntries: 10_000}}
	err = t.withClient(ctx, nil, func(c *client, _ *instance) (err error) {
		s, err = timeEach(n.walks, func() error {
			result, err := c.ask("fs/walk", params)
			if err != nil {
				return err
			}
			return checkWalk(result)
		})
		return err
	})
	return s, err
}

// checkWalk sees whether all files have been listed. It counts them in the plain
// spelling, and decodes only what is spelt otherwise: see scanOutput.
func checkWalk(result []byte) error {
	files := bytes.Count(result, []byte(`"kind":"file"`))
	if files == 0 {
		var decoded struct {
			Entries []struct {
				Kind string `json:"kind"`
			} `json:"entries"`
		}
		if err := json.Unmarshal(result, &decoded); err != nil {
			return fmt.Errorf("fs/walk: decoding its result: %w", err)
		}
		for _, entry := range decoded.Entries {
			if entry.Kind == "file" {
				files++
			}
		}
	}
	if files != treeDirs*treeFiles {
		return fmt.Errorf("fs/walk: got %d files of %d", files, treeDirs*treeFiles)
	}
	return nil
}

// bareWalk lists the tree within this program.
func bareWalk(_ context.Context, n sizes) (sample, error) {
	root, err := n.fixtures.makeTree()
	if err != nil {
		return nil, err
	}
	return timeEach(n.walks, func() error {
		files := 0
		err := filepath.WalkDir(root, func(_ string, entry fs.DirEntry, err error) error {
			if err == nil && entry.Type().IsRegular() {
				files++
			}
			return err
		})
		if files != treeDirs*treeFiles {
			err = errors.Join(err, fmt.Errorf("found %d files of %d", files, treeDirs*treeFiles))
		}
		return err
	})
}

// fileURI is a native absolute path as paths travel.
func fileURI(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // a Windows drive
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

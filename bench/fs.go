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

// timeAsks asks the same n times and returns how long each answer took, in
// milliseconds. It is checked when the clock has stopped: what that takes is not
// the server's.
func timeAsks(n int, c *client, method string, params any, check func(result []byte) error) ([]float64, error) {
	var took []float64
	for i := range warmUps + n {
		begin := time.Now()
		result, err := c.ask(method, params)
		if i >= warmUps {
			took = append(took, milliseconds(time.Since(begin)))
		}
		if err == nil {
			err = check(result)
		}
		if err != nil {
			return nil, err
		}
	}
	return took, nil
}

// readFile reads the same file again and again. What comes must be the file.
func readFile(ctx context.Context, t *target, n sizes) (s sample, err error) {
	file, err := n.fixtures.makeFile()
	if err != nil {
		return nil, err
	}
	want := base64.StdEncoding.AppendEncode(nil, file.data)
	err = t.withClient(ctx, nil, func(c *client, _ *instance) error {
		took, err := timeAsks(n.reads, c, "fs/readFile", pathParams{fileURI(file.path)}, func(result []byte) error {
			if got, ok := scanString(result, `"dataBase64":"`); !ok || !bytes.Equal(got, want) {
				return fmt.Errorf("fs/readFile: got %d bytes that are not the file", len(result))
			}
			return nil
		})
		if err == nil {
			s = sample{"rate": fileRate(took)}
		}
		return err
	})
	return s, err
}

// pathParams are the params of methods that take a path alone.
type pathParams struct {
	Path string `json:"path"`
}

// fileRate is the rate of reads of the file that took so many milliseconds each.
func fileRate(took []float64) float64 {
	var total float64
	for _, each := range took {
		total += each
	}
	return float64(len(took)*fileMiB) * 1000 / total
}

// bareReadFile is the least a server has to do: read the file, and write it the
// way it travels.
func bareReadFile(_ context.Context, n sizes) (sample, error) {
	file, err := n.fixtures.makeFile()
	if err != nil {
		return nil, err
	}
	var encoded []byte
	took, err := timesOf(n.reads, func() error {
		data, err := os.ReadFile(file.path)
		encoded = base64.StdEncoding.AppendEncode(encoded[:0], data)
		return err
	})
	if err != nil {
		return nil, err
	}
	return sample{"rate": fileRate(took)}, nil
}

// metadata asks for the metadata of the same file, one request after the other.
func metadata(ctx context.Context, t *target, n sizes) (s sample, err error) {
	file, err := n.fixtures.makeFile()
	if err != nil {
		return nil, err
	}
	err = t.withClient(ctx, nil, func(c *client, _ *instance) (err error) {
		s, err = timeEach(n.roundTrips, func() error { return c.call("fs/getMetadata", pathParams{fileURI(file.path)}) })
		return err
	})
	return s, err
}

// bareMetadata is an echo of as many bytes as a request and its answer have on
// average.
func bareMetadata(ctx context.Context, n sizes) (sample, error) { return bareEcho(ctx, n, 150) }

// walkOptions ask for everything there is.
type walkOptions struct {
	MaxDepth                int  `json:"maxDepth"`
	MaxDirectories          int  `json:"maxDirectories"`
	MaxEntries              int  `json:"maxEntries"`
	FollowDirectorySymlinks bool `json:"followDirectorySymlinks"`
}

// walk lists a tree again and again. All of it must come.
func walk(ctx context.Context, t *target, n sizes) (sample, error) {
	return walkTree(ctx, t, n, (*fixtures).makeTree)
}

// walkLarge is walk for a tree that has more than fits into an answer.
func walkLarge(ctx context.Context, t *target, n sizes) (sample, error) {
	return walkTree(ctx, t, n, (*fixtures).makeLargeTree)
}

func walkTree(ctx context.Context, t *target, n sizes, which func(*fixtures) (tree, error)) (s sample, err error) {
	there, err := which(n.fixtures)
	if err != nil {
		return nil, err
	}
	params := struct {
		pathParams
		Options walkOptions `json:"options"`
	}{pathParams{fileURI(there.root)}, walkOptions{MaxDepth: 64, MaxDirectories: 10_000, MaxEntries: 50_000}}
	err = t.withClient(ctx, nil, func(c *client, _ *instance) error {
		took, err := timeAsks(n.walks, c, "fs/walk", params, func(result []byte) error {
			return checkWalk(result, there.listed())
		})
		if err == nil {
			s = sample{"p50": median(took)}
		}
		return err
	})
	return s, err
}

// checkWalk sees whether all files have been listed. It counts them in the plain
// spelling, and decodes only what is spelt otherwise: see scanOutput.
func checkWalk(result []byte, want int) error {
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
	if files != want {
		return fmt.Errorf("fs/walk: got %d files of %d", files, want)
	}
	return nil
}

// bareWalk lists the tree within this program.
func bareWalk(_ context.Context, n sizes) (sample, error) {
	return bareWalkTree(n, (*fixtures).makeTree)
}

func bareWalkLarge(_ context.Context, n sizes) (sample, error) {
	return bareWalkTree(n, (*fixtures).makeLargeTree)
}

func bareWalkTree(n sizes, which func(*fixtures) (tree, error)) (sample, error) {
	there, err := which(n.fixtures)
	if err != nil {
		return nil, err
	}
	return timeEach(n.walks, func() error {
		files, want := 0, there.listed()
		err := filepath.WalkDir(there.root, func(_ string, entry fs.DirEntry, err error) error {
			if err == nil && entry.Type().IsRegular() {
				files++
			}
			if files == want {
				return fs.SkipAll
			}
			return err
		})
		if files != want {
			err = errors.Join(err, fmt.Errorf("found %d files of %d", files, want))
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

package discover

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/airlock-exec/airlock/internal/files"
	"github.com/airlock-exec/airlock/internal/files/fault"
	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
)

// Names of the files of a skill.
const (
	skillFile     = "SKILL.md"
	skillMetadata = "agents/openai.yaml"
)

// Roots looks for plugins and skills in folders. What is wrong with one of them is
// told in its place; the others are not affected.
func (d *Discoverer) Roots(ctx context.Context, params *protocol.DiscoverRootsParams) (*protocol.DiscoverRootsResult, error) {
	if len(params.Roots) > limits.DiscoveryRoots {
		return nil, protocol.Errorf(protocol.CodeInvalidRequest,
			"capability root discovery accepts at most %d roots", limits.DiscoveryRoots)
	}
	done, err := d.turns.Take(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	roots := make([]protocol.DiscoveredRoot, len(params.Roots))
	room := newRoom()
	atOnce(len(roots), limits.DiscoveryAtOnce, func(i int) {
		if ctx.Err() == nil {
			roots[i] = d.root(ctx, &params.Roots[i], room)
		}
	})
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return &protocol.DiscoverRootsResult{Roots: roots}, nil
}

// wireText says on the wire what is wrong with a folder.
func wireText(err error) string { return fault.Wire(err).Message }

// atOnce calls do with the numbers below count, some at the same time, and returns
// when all calls have.
func atOnce(count, most int, do func(i int)) {
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(count, most) {
		workers.Go(func() {
			for i := range next {
				do(i)
			}
		})
	}
	for i := range count {
		next <- i
	}
	close(next)
	workers.Wait()
}

func failedRoot(id string, path protocol.PathURI, format string, args ...any) protocol.DiscoveredRoot {
	return protocol.DiscoveredRoot{ID: id, Path: path, Error: new(fmt.Sprintf(format, args...))}
}

// scan looks for plugins and skills in a folder.
func scan(ctx context.Context, id string, root protocol.PathURI, b *bundle) protocol.DiscoveredRoot {
	native, err := root.Native()
	if err != nil {
		return failedRoot(id, root, "failed to inspect capability root %s: %v", root, err)
	}
	if info, err := os.Stat(native); err != nil {
		return failedRoot(id, root, "failed to inspect capability root %s: %s", root, fault.Text(err))
	} else if !info.IsDir() {
		return failedRoot(id, root, "capability root %s is not a directory", root)
	}
	walk, err := walk(ctx, root)
	if err != nil {
		return failedRoot(id, root, "failed to scan capability root %s: %s", root, fault.Wire(err).Message)
	}
	for _, failure := range walk.Errors {
		b.warn("failed to scan capability path %s: %s", failure.Path, failure.Message)
	}
	if walk.Truncated {
		b.warn("capability scan reached its traversal limit (root: %s)", root)
	}
	found := protocol.DiscoveredRoot{ID: id, Path: root}
	listed := sortedFiles(walk)
	manifest := b.manifest(root)
	found.NamespaceManifests = b.namespaces(root, native, manifest, listed)
	if manifest != nil {
		found.Plugin = b.plugin(root, manifest)
	}
	found.Skills = b.skills(ctx, listed)
	found.Warnings = b.warnings
	return found
}

// walk lists a folder as fs/walk does.
func walk(ctx context.Context, root protocol.PathURI) (protocol.WalkResult, error) {
	encoded, err := new(files.Files).AppendWalk(ctx, nil, &protocol.WalkParams{Path: root, Options: protocol.WalkOptions{
		MaxDepth: limits.DiscoveryDepth, MaxDirectories: limits.DiscoveryDirectories,
		MaxEntries: limits.DiscoveryEntries, FollowDirectorySymlinks: true,
	}})
	if err != nil {
		return protocol.WalkResult{}, err
	}
	return protocol.Decode[protocol.WalkResult](encoded)
}

// sortedFiles returns the files that a walk has found, in the order of their paths.
func sortedFiles(walk protocol.WalkResult) []protocol.PathURI {
	var files []protocol.PathURI
	for _, entry := range walk.Entries {
		if entry.Kind == protocol.EntryFile {
			files = append(files, entry.Path)
		}
	}
	slices.SortFunc(files, func(a, b protocol.PathURI) int { return strings.Compare(a.String(), b.String()) })
	return files
}

// skills reads the skills among some files.
func (b *bundle) skills(ctx context.Context, files []protocol.PathURI) []protocol.SkillFiles {
	var skills []protocol.SkillFiles
	for _, file := range files {
		dir, isSkill := within(file, skillFile)
		if !isSkill || ctx.Err() != nil {
			continue
		}
		instructions := b.file(file)
		if instructions == nil {
			continue
		}
		skill := protocol.SkillFiles{Instructions: *instructions}
		if metadata, err := join(dir, skillMetadata); err == nil {
			skill.Metadata = b.file(metadata)
		}
		skills = append(skills, skill)
	}
	return skills
}

// ancestors returns the folders above a path of this system, the nearest first.
func ancestors(native string) []protocol.PathURI {
	var above []protocol.PathURI
	for dir := filepath.Dir(native); ; dir = filepath.Dir(dir) {
		above = append(above, uri(dir))
		if dir == filepath.Dir(dir) {
			return above
		}
	}
}

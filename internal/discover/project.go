package discover

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// projectDir is the folder of a project's configuration, in each of its folders.
const projectDir = ".codex"

// notForProjects are what a project can't set: it would have an agent talk to
// somebody else, or run something.
var notForProjects = []string{
	"apps_mcp_product_sku", "chatgpt_base_url", "experimental_realtime_webrtc_call_base_url",
	"experimental_realtime_ws_base_url", "model_provider", "model_providers", "notify", "openai_base_url",
	"otel", "profile", "profiles",
}

// projects reads the configuration of the folders from the root of a project to a
// folder in it, where it is trusted.
func (l *loader) projects(ctx context.Context, trust *trust, home, cwd string) ([]layer, error) {
	root := trust.projectRoot(cwd)
	repository := repositoryOf(cwd)
	var read []layer
	for _, dir := range lineage(root, cwd) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		base := filepath.Join(dir, projectDir)
		if canonical(base) == home || !trust.any(dir, root, repository) {
			continue
		}
		path := filepath.Join(base, "config.toml")
		parsed, err := l.load(path)
		if err != nil {
			return nil, err
		}
		for _, name := range notForProjects {
			delete(parsed, name)
		}
		read = append(read, layer{source: fmt.Sprintf("project (%s)", path), path: path, table: parsed})
	}
	return read, nil
}

// lineage returns the folders from one to another below it.
func lineage(from, to string) []string {
	var dirs []string
	for dir := to; ; dir = filepath.Dir(dir) {
		dirs = append(dirs, dir)
		if dir == from || dir == filepath.Dir(dir) {
			break
		}
	}
	slices.Reverse(dirs)
	return dirs
}

// trust knows which projects the user trusts, and how to tell where they begin.
type trust struct {
	levels  map[string]bool // by path
	markers []string
}

// newTrust takes it from layers, what counts most last.
func newTrust(layers []layer) (*trust, error) {
	t := &trust{levels: map[string]bool{}, markers: []string{".git"}}
	for _, layer := range layers {
		if err := t.add(layer.table); err != nil {
			return nil, fmt.Errorf("%s: %w", layer.path, err)
		}
	}
	return t, nil
}

func (t *trust) add(config table) error {
	projects, isTable := config["projects"].(table)
	if config["projects"] != nil && !isTable {
		return errors.New("projects must be a table")
	}
	for path, value := range projects {
		project, isTable := value.(table)
		level, set := project["trust_level"]
		switch {
		case isTable && !set:
		case level == "trusted", level == "untrusted":
			t.levels[path] = level == "trusted"
		default:
			return fmt.Errorf("projects.%s.trust_level must be `trusted` or `untrusted`", tomlKey(path))
		}
	}
	value, set := config["project_root_markers"]
	if !set {
		return nil
	}
	t.markers = nil
	list, isList := value.([]any)
	for _, element := range list {
		marker, isText := element.(string)
		isList = isList && isText
		t.markers = append(t.markers, marker)
	}
	if !isList {
		return errors.New("project_root_markers must be an array of strings")
	}
	return nil
}

// any tells whether the first of some folders of which a level is known is trusted.
func (t *trust) any(dirs ...string) bool {
	for _, dir := range dirs {
		for _, name := range []string{dir, canonical(dir)} {
			if trusted, known := t.levels[name]; known {
				return trusted
			}
		}
	}
	return false
}

// projectRoot returns the nearest folder above, or the folder itself, that has a
// marker; the folder itself if none has.
func (t *trust) projectRoot(cwd string) string {
	isRoot := func(dir string) bool {
		return slices.ContainsFunc(t.markers, func(marker string) bool {
			if marker == ".git" {
				return isRepository(dir)
			}
			_, err := os.Stat(filepath.Join(dir, marker))
			return err == nil
		})
	}
	if root := nearest(cwd, isRoot); root != "" {
		return root
	}
	return cwd
}

// nearest returns the first folder, upwards from one, that is what is looked for;
// "" if none is.
func nearest(dir string, is func(dir string) bool) string {
	for {
		if is(dir) {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}

// isRepository tells whether a folder is the root of what Git has checked out.
func isRepository(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, ".git"))
	if err != nil || info.Mode().IsRegular() {
		return err == nil
	}
	_, err = os.Stat(filepath.Join(dir, ".git", "HEAD"))
	return err == nil
}

// gitFileBytes bounds the files of Git that lead from one folder to another.
const gitFileBytes = 16 << 10

// repositoryOf returns the root of the repository that a folder belongs to; that of
// the main one for a worktree, if that knows it. It is "" if there is none.
func repositoryOf(cwd string) string {
	root := nearest(cwd, isRepository)
	if root == "" {
		return ""
	}
	link := filepath.Join(root, ".git")
	pointer, found := strings.CutPrefix(firstLine(link), "gitdir:")
	if !found {
		return root
	}
	// A folder that only says that it belongs to a repository may be anybody's.
	worktree := resolve(root, strings.TrimSpace(pointer))
	back := firstLine(filepath.Join(worktree, "gitdir"))
	common := firstLine(filepath.Join(worktree, "commondir"))
	if back == "" || common == "" || canonical(resolve(worktree, back)) != canonical(link) {
		return root
	}
	if git := resolve(worktree, common); filepath.Base(git) == ".git" {
		return filepath.Dir(git)
	}
	return root
}

// firstLine returns the only line of a small file, "" if that is not what it is.
func firstLine(path string) string {
	data, err := readFile(path, gitFileBytes)
	line := strings.TrimSpace(string(data))
	if err != nil || strings.Contains(line, "\n") {
		return ""
	}
	return line
}

// resolve returns where a path leads from a folder.
func resolve(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

package files

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
)

func remove(tb testing.TB, path string) error {
	tb.Helper()
	_, err := new(Files).Remove(tb.Context(), &protocol.RemoveParams{Path: uri(tb, path)})
	return err
}

func TestRemoveTree(t *testing.T) {
	dir := folder(t)
	put(t, dir+"/kept/f", "x")
	for i := range 3 * namesAtOnce {
		put(t, dir+"/tree/"+strconv.Itoa(i%7)+"/"+strconv.Itoa(i), "")
	}
	link(t, "../kept", dir+"/tree/link")
	link(t, "../../kept", dir+"/tree/1/link")
	must(t, remove(t, dir+"/tree"))
	if !missing(dir + "/tree") {
		t.Error("it is still there")
	}
	if content(t, dir+"/kept/f") != "x" {
		t.Error("what a link leads to has been removed")
	}
}

func TestRemoveLink(t *testing.T) {
	dir := folder(t)
	put(t, dir+"/d/f", "x")
	link(t, "d", dir+"/link")
	must(t, remove(t, dir+"/link"))
	if !missing(dir+"/link") || content(t, dir+"/d/f") != "x" {
		t.Error("the link is there, or what it leads to is not")
	}
}

// TestRemoveRoot: nobody wants that.
func TestRemoveRoot(t *testing.T) {
	check(t, "remove", remove(t, "/"), noEntry)
}

// chain makes directories in one another, deeper than paths can be long, and
// returns the first.
func chain(t *testing.T, dir string, depth int) string {
	t.Helper()
	root, err := os.OpenRoot(dir)
	must(t, err)
	name := strings.Repeat("d", 10)
	for range depth {
		must(t, root.Mkdir(name, 0o755))
		next, err := root.OpenRoot(name)
		root.Close()
		must(t, err)
		root = next
	}
	root.Close()
	return dir + "/" + name
}

func TestRemoveDeepTrees(t *testing.T) {
	dir := folder(t)
	must(t, remove(t, chain(t, dir, limits.TreeDepth)))
	deep := chain(t, dir, limits.TreeDepth+1)
	tooDeep := refused{protocol.CodeInternal, "the tree is more than 1024 directories deep; have a command do this"}
	check(t, "one deeper", remove(t, deep), tooDeep)
	must(t, os.RemoveAll(deep))
}

// TestRemoveIsGivenUp: what is left then stays.
func TestRemoveIsGivenUp(t *testing.T) {
	dir := folder(t)
	put(t, dir+"/tree/f", "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := new(Files).Remove(ctx, &protocol.RemoveParams{Path: uri(t, dir+"/tree")})
	if !errors.Is(err, context.Canceled) || missing(dir+"/tree/f") {
		t.Errorf("got %v, want that it was cancelled before anything was removed", err)
	}
}

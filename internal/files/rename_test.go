package files

import (
	"os"
	"testing"

	"github.com/airlock-exec/airlock/protocol"
)

func TestRename(t *testing.T) {
	dir := folder(t)
	rename := func(from, to string, overwrite bool) error {
		_, err := new(Files).Rename(t.Context(), &protocol.RenameParams{
			SourcePath: uri(t, dir+"/"+from), DestinationPath: uri(t, dir+"/"+to), Overwrite: overwrite,
		})
		return err
	}
	put(t, dir+"/a", "a")
	put(t, dir+"/b", "b")
	put(t, dir+"/d/x", "x")
	must(t, os.Mkdir(dir+"/empty", 0o755))
	link(t, "gone", dir+"/link")
	check(t, "onto a file", rename("a", "b", false), exists)
	check(t, "onto a directory", rename("d", "empty", false), exists)
	check(t, "onto a link to nothing", rename("a", "link", false), exists)
	check(t, "nothing", rename("none", "new", false), noFile)
	check(t, "to nowhere", rename("a", "none/new", false), noFile)
	check(t, "into itself", rename("d", "d/new", false), badArgument)
	check(t, "a file over a directory", rename("a", "empty", true), isDirectory)
	check(t, "a directory over a file", rename("d", "a", true), noDirectory)
	check(t, "a directory over a full one", rename("empty", "d", true), notEmpty)
	if content(t, dir+"/a") != "a" || content(t, dir+"/b") != "b" || content(t, dir+"/d/x") != "x" {
		t.Error("what could not be renamed is not as it was")
	}
	must(t, rename("a", "b", true))
	must(t, rename("b", "c", false))
	must(t, rename("d", "empty", true))
	must(t, rename("link", "link2", false))
	if content(t, dir+"/c") != "a" || content(t, dir+"/empty/x") != "x" || !missing(dir+"/a") || !missing(dir+"/d") || missing(dir+"/link2") {
		t.Error("what has been renamed is not there, or still where it was")
	}
}

func TestRenameToForeignPaths(t *testing.T) {
	dir := folder(t)
	put(t, dir+"/a", "a")
	_, err := new(Files).Rename(t.Context(), &protocol.RenameParams{SourcePath: uri(t, dir+"/a"), DestinationPath: parse(t, "file:///C:/x")})
	check(t, "rename", err, foreignDrive)
	_, err = new(Files).Copy(t.Context(), &protocol.CopyParams{SourcePath: uri(t, dir+"/a"), DestinationPath: parse(t, "file:///C:/x")})
	check(t, "copy", err, foreignDrive)
}

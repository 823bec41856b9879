package glob

import (
	"errors"
	"fmt"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
)

// What is wrong with a glob, and how to mend it.
var (
	errEmpty     = errors.New("is empty")
	errLong      = errors.New("is too long")
	errSyntax    = errors.New("has a bracket, a brace or a backslash without what belongs to it")
	errSlash     = errors.New("has a slash in brackets or behind a backslash, where none can be matched")
	errAbsolute  = errors.New("begins with a slash, but paths are matched from below the root; leave it out")
	errSegment   = errors.New(`has an empty segment, "." or "..", which no path below the root has`)
	errDirectory = errors.New("means directories, but files are chosen; end it with `/**` for all that are below")
	errMany      = errors.New("has too many braces; give several globs instead")
	errTogether  = fmt.Errorf("is too much: all globs together, with their braces spelt out, have more than %d bytes", limits.SpeltGlobBytes)
)

// Compile makes a filter. Without any globs it chooses all files. The error is
// one of invalid parameters that names the glob.
func Compile(include, exclude []string) (*Filter, error) {
	if n := len(include) + len(exclude); n > limits.Globs {
		return nil, protocol.Errorf(protocol.CodeInvalidParams, "there are %d globs, more than %d", n, limits.Globs)
	}
	f := new(Filter)
	spelt, size := 0, 0
	for _, list := range []struct {
		name  string
		globs []string
		to    *[]pattern
	}{{"include", include, &f.include}, {"exclude", exclude, &f.exclude}} {
		for _, glob := range list.globs {
			patterns, err := compile(glob, limits.SpeltGlobs-spelt)
			for _, p := range patterns {
				size += len(p.dir)
			}
			switch {
			case err != nil:
			case list.to == &f.include && patterns[0].dirOnly:
				err = errDirectory
			case size > limits.SpeltGlobBytes:
				err = errTogether
			}
			if err != nil {
				return nil, protocol.Errorf(protocol.CodeInvalidParams, "%s: the glob %q %v",
					list.name, shorten(glob), err)
			}
			spelt += len(patterns)
			*list.to = append(*list.to, patterns...)
		}
	}
	return f, nil
}

// compile returns the patterns that a glob with braces stands for, at most so
// many.
func compile(glob string, most int) ([]pattern, error) {
	switch {
	case glob == "":
		return nil, errEmpty
	case len(glob) > limits.GlobBytes:
		return nil, errLong
	case !doublestar.ValidatePattern(glob):
		return nil, errSyntax
	}
	body, dirOnly := strings.CutSuffix(glob, "/")
	spelt, err := spell(body, most)
	if err != nil {
		return nil, err
	}
	patterns := make([]pattern, len(spelt))
	for i, glob := range spelt {
		if patterns[i], err = newPattern(glob, dirOnly); err != nil {
			return nil, err
		}
	}
	return patterns, nil
}

func newPattern(glob string, dirOnly bool) (pattern, error) {
	p := pattern{file: glob, dir: glob, dirOnly: dirOnly}
	switch {
	case strings.HasPrefix(glob, "/"):
		return pattern{}, errAbsolute
	case !doublestar.ValidatePattern(glob):
		return pattern{}, errSyntax
	}
	segments := strings.Split(glob, "/")
	for _, s := range segments {
		if s == "" || s == "." || s == ".." {
			return pattern{}, errSegment
		}
	}
	if len(segments) > 1 {
		p.segments = segments
	}
	if strings.HasSuffix(glob, "/**") {
		p.file += "/*" // what is below the directory, not a file in its place
	}
	return p, nil
}

// shorten cuts a glob down to what can be shown.
func shorten(glob string) string {
	const most = 200
	if len(glob) <= most {
		return glob
	}
	return strings.ToValidUTF8(glob[:most], "") + "…"
}

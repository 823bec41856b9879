package files

import (
	"path/filepath"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
)

// walkResult is a [protocol.WalkResult] in the making. It is encoded as it comes,
// as there is so much of it.
type walkResult struct {
	out    []byte // as far as the entries so far, each with a comma
	errors []byte // the errors so far, each with a comma
	size   int    // what entries and errors count for

	truncated bool // something is missing
	full      bool // nothing is added any more
}

func beginWalk(dst []byte) walkResult {
	return walkResult{out: append(dst, `{"entries":[`...)}
}

// end returns the whole result.
func (r *walkResult) end() []byte {
	out := append(trimComma(r.out), `],"errors":[`...)
	out = append(out, trimComma(r.errors)...)
	out = append(out, `],"truncated":`...)
	return append(strconv.AppendBool(out, r.truncated), '}')
}

func trimComma(list []byte) []byte {
	if n := len(list); n > 0 && list[n-1] == ',' {
		return list[:n-1]
	}
	return list
}

// take takes from the size that the result may have. If there is too little left,
// the result is full.
func (r *walkResult) take(bytes int) bool {
	const around = 64 // what the dialect reckons with for an entry or an error
	if r.size+bytes+around > limits.WalkBytes {
		r.truncated, r.full = true, true
		return false
	}
	r.size += bytes + around
	return true
}

// addEntry adds something that has been found. It reports false if the result is
// full.
func (r *walkResult) addEntry(n *namer, name string, isDir bool) bool {
	before := len(r.out)
	out := append(r.out, `{"path":"`...)
	uri := len(out)
	out = n.append(out, name)
	if !r.take(len(out) - uri) {
		r.out = out[:before]
		return false
	}
	if isDir {
		out = append(out, `","kind":"directory"},`...)
	} else {
		out = append(out, `","kind":"file"},`...)
	}
	r.out = out
	return true
}

// addError adds why something could not be looked at.
func (r *walkResult) addError(uri, message string) {
	if !r.take(len(uri) + len(message)) {
		return
	}
	r.errors = append(r.errors, `{"path":`...)
	r.errors, _ = jsontext.AppendQuote(r.errors, uri)
	r.errors = append(r.errors, `,"message":`...)
	r.errors, _ = jsontext.AppendQuote(r.errors, message)
	r.errors = append(r.errors, "},"...)
}

// namer makes the path URIs of what is in a directory. They begin as that of the
// directory is spelled.
type namer struct {
	path   string
	prefix string
	plain  bool // else a URI is not its directory's and a name
}

func newNamer(d *walkDir) *namer {
	return &namer{
		path:   d.path,
		prefix: strings.TrimSuffix(d.uri, "/") + "/",
		// At the root a name can look like a drive, and is said otherwise.
		plain: filepath.Dir(d.path) != d.path && !strings.Contains(d.uri, "%00"),
	}
}

// append appends the URI of a name. All of its characters can stand in JSON.
func (n *namer) append(dst []byte, name string) []byte {
	if !n.plain {
		uri, err := protocol.PathURIFromNative(filepath.Join(n.path, name))
		if err == nil {
			return append(dst, uri.String()...)
		}
	}
	return protocol.AppendName(append(dst, n.prefix...), name)
}

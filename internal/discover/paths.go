package discover

import (
	"fmt"
	"strings"

	"github.com/airlock-exec/airlock/protocol"
)

// literal encodes what means something in a URI, or is dropped from one, but is
// part of a name.
func literal(names string) string {
	var encoded strings.Builder
	for i := range len(names) {
		if c := names[i]; c <= ' ' || strings.IndexByte(`%?#\`, c) >= 0 {
			fmt.Fprintf(&encoded, "%%%02X", c)
		} else {
			encoded.WriteByte(c)
		}
	}
	return encoded.String()
}

// join returns the path that names, with slashes between, lead to from a folder
// as it is spelled. None of the names may be a dot segment.
func join(dir protocol.PathURI, names string) (protocol.PathURI, error) {
	return protocol.ParsePathURI(strings.TrimSuffix(dir.String(), "/") + "/" + literal(names))
}

// within returns the folder that a file is in by names, with slashes between.
func within(file protocol.PathURI, names string) (protocol.PathURI, bool) {
	dir, found := strings.CutSuffix(file.String(), "/"+names)
	if !found {
		return protocol.PathURI{}, false
	}
	uri, err := protocol.ParsePathURI(dir + "/")
	return uri, err == nil
}

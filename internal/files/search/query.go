package search

import (
	"encoding/binary"
	"hash/fnv"
	"strconv"

	"github.com/airlock-exec/airlock/internal/files/glob"
	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
)

// query is what is looked for, and where.
type query struct {
	*matcher
	filter      *glob.Filter
	ignoreFiles bool
	hidden      bool
	most        int    // matches on a page
	digest      uint64 // of all that must not change from page to page
}

// newQuery judges the parameters but for the cursor.
func newQuery(p *protocol.SearchParams) (*query, error) {
	most := uint64(limits.SearchMatches)
	if p.MaxMatches != nil {
		most = *p.MaxMatches
	}
	if most < 1 || most > limits.SearchMatches {
		return nil, invalid("maxMatches must be between 1 and %d", limits.SearchMatches)
	}
	m, err := newMatcher(p.Pattern, p.Regexp, p.IgnoreCase)
	if err != nil {
		return nil, err
	}
	filter, err := glob.Compile(p.Include, p.Exclude)
	if err != nil {
		return nil, err
	}
	return &query{
		matcher: m, filter: filter, ignoreFiles: p.IgnoreFiles, hidden: p.Hidden,
		most: int(most), digest: digest(p),
	}, nil
}

// digest is of what must be the same when a search goes on. It is no secret:
// a cursor that is made up can do no more than one that was given out.
func digest(p *protocol.SearchParams) uint64 {
	h := fnv.New64a()
	add := func(texts ...string) {
		_, _ = h.Write(binary.AppendUvarint(nil, uint64(len(texts))))
		for _, text := range texts {
			_, _ = h.Write(binary.AppendUvarint(nil, uint64(len(text))))
			_, _ = h.Write([]byte(text))
		}
	}
	add(p.Path.String(), p.Pattern)
	add(p.Include...)
	add(p.Exclude...)
	for _, flag := range []bool{p.Regexp, p.IgnoreCase, p.IgnoreFiles, p.Hidden} {
		add(strconv.FormatBool(flag))
	}
	return h.Sum64()
}

func invalid(format string, args ...any) *protocol.Error {
	return protocol.Errorf(protocol.CodeInvalidParams, format, args...)
}

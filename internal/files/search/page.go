package search

import (
	"context"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
)

// page gathers what is found, in order.
type page struct {
	*search
	matches []protocol.SearchMatch
	errors  []protocol.WalkError
	bytes   int
	next    *position // where the next page begins, if there may be one
}

// fill takes what the walk comes upon until the page is full, the time is up or
// all has been searched.
func (p *page) fill(ctx context.Context, jobs <-chan *job) error {
	for j := range jobs {
		switch {
		case j.stop:
			p.next = &j.at
		case j.problem != "":
			p.fail(j.at.path, j.problem)
		default:
			p.file(ctx, j)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if p.next != nil {
			return nil
		}
	}
	return context.Cause(ctx) // why the walk has ended early, if it has
}

// file takes what is in a file, all of it or until the page ends.
func (p *page) file(ctx context.Context, j *job) {
	rel := j.at.path
	result := j.take(ctx, p.search)
	for {
		p.fail(rel, result.problem)
		if p.next = p.add(rel, result.matches); p.next != nil {
			return
		}
		p.next = result.next
		if p.next == nil || p.full() || p.over() || ctx.Err() != nil {
			break
		}
		result = p.scan(ctx, *p.next)
	}
	if p.next == nil && (p.full() || p.over()) {
		end := behind(rel)
		p.next = &end
	}
}

func (p *page) full() bool {
	return len(p.matches) == p.most || p.bytes >= limits.SearchBytes
}

// add takes matches, and returns where it has left off if the page is full
// before the last.
func (p *page) add(rel string, matches []match) *position {
	if len(matches) == 0 {
		return nil
	}
	uri, err := protocol.PathURIFromNative(p.native(rel))
	if err != nil {
		p.fail("", err.Error())
		return nil
	}
	for _, m := range matches {
		if p.full() {
			return &position{path: rel, offset: m.offset, line: m.line}
		}
		p.bytes += len(m.text) + len(uri.String())
		p.matches = append(p.matches, protocol.SearchMatch{
			Path: uri, Line: m.line, Start: uint64(m.start), End: uint64(m.end),
			Offset: uint64(m.offset), Text: m.text, TextStart: uint64(m.textStart),
		})
	}
	return nil
}

// fail takes note of what could not be looked at.
func (p *page) fail(rel, problem string) {
	if problem == "" || len(p.errors) == limits.SearchErrors {
		return
	}
	if uri, err := protocol.PathURIFromNative(p.native(rel)); err == nil {
		p.errors = append(p.errors, protocol.WalkError{Path: uri, Message: problem})
	}
}

func (p *page) result() *protocol.SearchResult {
	r := &protocol.SearchResult{Matches: p.matches, Errors: p.errors}
	if p.next != nil {
		token := p.token(*p.next)
		r.Next = &token
	}
	return r
}

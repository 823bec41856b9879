package watch

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/airlock-exec/airlock/protocol"
)

// outbox holds what is to be told of a watch. If it would be too much it holds
// instead that the client must rescan.
type outbox struct {
	news chan struct{} // holds a token if there may be something to tell
	room int           // bytes that the changes may take
	all  *pending      // those of all watches

	mu      sync.Mutex
	clock   uint64 // counts changes
	changes map[string]change
	bytes   int
	rescan  bool
	ended   string // why the watch has ended
}

// change is what has happened at a path since it was told last.
type change struct {
	kind protocol.ChangeKind
	last uint64 // when
	void uint64 // when it was created or removed, which voids what was below it
}

// changeBytes is what a change takes besides its path.
const changeBytes = 96

func newOutbox(room int, all *pending) *outbox {
	return &outbox{news: make(chan struct{}, 1), room: room, all: all, changes: map[string]change{}}
}

// add merges a change into what is to be told. The path is below the root, ""
// being the root itself.
func (o *outbox) add(path string, kind protocol.ChangeKind) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.rescan {
		return
	}
	o.clock++
	old, known := o.changes[path]
	if !known && !o.grow(len(path)+changeBytes) {
		o.mustRescan()
		return
	}
	next := change{kind: kind, last: o.clock, void: o.clock}
	if kind == protocol.ChangeModified {
		next.void = 0
		if known && !o.isVoid(path, old) {
			next.kind, next.void = old.kind, old.void
		}
	}
	o.changes[path] = next
	signal(o.news)
}

// grow makes room for a change, if there is some. The caller holds the lock.
func (o *outbox) grow(bytes int) bool {
	if o.bytes+bytes > o.room || !o.all.take(o.bytes, o.bytes+bytes) {
		return false
	}
	o.bytes += bytes
	return true
}

// isVoid tells whether a directory above has been created or removed since a change.
// The caller holds the lock.
func (o *outbox) isVoid(path string, c change) bool {
	for path != "" {
		path = path[:max(strings.LastIndexByte(path, '/'), 0)]
		if o.changes[path].void > c.last {
			return true
		}
	}
	return false
}

// missed has the client rescan.
func (o *outbox) missed() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.mustRescan()
}

// mustRescan is missed; the caller holds the lock.
func (o *outbox) mustRescan() {
	o.rescan = true
	o.all.give(o.bytes)
	o.changes, o.bytes = map[string]change{}, 0
	signal(o.news)
}

// end has the client told, after all else, that the watch has ended.
func (o *outbox) end(why string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended == "" {
		o.ended = why
	}
	signal(o.news)
}

// hasEnded tells whether end has been called.
func (o *outbox) hasEnded() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.ended != ""
}

// letter is what is told at a time.
type letter struct {
	changes []told // in the order of their paths
	rescan  bool
	ended   string
	bytes   int // what the changes take
}

// told is a change that is told.
type told struct {
	path string
	kind protocol.ChangeKind
}

// take returns what is to be told. When it is, done must be called.
func (o *outbox) take() letter {
	o.mu.Lock()
	changes := o.changes
	l := letter{rescan: o.rescan, ended: o.ended, bytes: o.bytes}
	o.changes, o.bytes, o.rescan = map[string]change{}, 0, false
	o.mu.Unlock()
	l.changes = sorted(changes)
	return l
}

// done says that a letter is held no more.
func (o *outbox) done(l letter) { o.all.give(l.bytes) }

// sorted returns changes without those that are void.
func sorted(changes map[string]change) []told {
	type above struct {
		path string
		void uint64 // of it and of all that is above it
	}
	var list []told
	var stack []above
	for _, path := range slices.SortedFunc(maps.Keys(changes), comparePaths) {
		c := changes[path]
		for len(stack) > 0 && !isBelow(path, stack[len(stack)-1].path) {
			stack = stack[:len(stack)-1]
		}
		var void uint64
		if len(stack) > 0 {
			void = stack[len(stack)-1].void
		}
		if c.last > void {
			list = append(list, told{path, c.kind})
		}
		if c.void > void {
			stack = append(stack, above{path, c.void})
		}
	}
	return list
}

// isBelow tells whether a path is below a directory.
func isBelow(path, dir string) bool {
	rest, ok := strings.CutPrefix(path, dir)
	return ok && (dir == "" || strings.HasPrefix(rest, "/"))
}

// comparePaths orders paths so that what is in a directory comes directly after it.
func comparePaths(a, b string) int {
	for i := range min(len(a), len(b)) {
		switch {
		case a[i] == b[i]:
			continue
		case a[i] == '/':
			return -1
		case b[i] == '/':
			return 1
		}
		return cmp.Compare(a[i], b[i])
	}
	return cmp.Compare(len(a), len(b))
}

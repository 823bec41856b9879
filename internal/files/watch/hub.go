package watch

import (
	"os"
	"slices"
	"sync"

	"github.com/airlock-exec/airlock/protocol"
)

// hub hands what the system tells of directories on to those who want to know.
type hub struct {
	source *source
	reader sync.WaitGroup

	// ops is held while the source is told to begin or to end watching, so that
	// who is the first or the last one to watch a directory is certain.
	ops sync.Mutex

	mu    sync.Mutex // guards what follows
	posts map[key][]*post
	count int // of posts
	most  int
	boxes map[*inbox]struct{}
}

// post is the interest of a watch in one directory.
type post struct {
	key  key
	in   *inbox
	only string   // the one name of interest; "" means all, and the directory itself
	what interest // what of it
	dead bool     // the source has ended it; guarded by the lock of the hub
}

// interest says what one wants to know of a directory.
type interest int

const (
	everything interest = iota
	entries             // what is created and removed in it
)

// newHub opens the source and reads from it until close.
func newHub(most int) (*hub, error) {
	s, err := openSource()
	if err != nil {
		return nil, err
	}
	h := &hub{source: s, posts: map[key][]*post{}, most: most, boxes: map[*inbox]struct{}{}}
	h.reader.Go(func() { s.read(h) })
	return h, nil
}

func (h *hub) close() {
	h.source.stop()
	h.reader.Wait()
	h.source.release()
}

// join lets an inbox hear what concerns all; leave ends that.
func (h *hub) join(in *inbox) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.boxes[in] = struct{}{}
}

func (h *hub) leave(in *inbox) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.boxes, in)
}

// add has an inbox told of an open directory: all that happens after it returns,
// and maybe some of what happened before.
func (h *hub) add(dir *os.File, p *post) error {
	h.ops.Lock()
	defer h.ops.Unlock()
	h.mu.Lock()
	full := h.count >= h.most
	h.mu.Unlock()
	if full {
		return errFull(h.most)
	}
	return h.source.add(h, dir, p)
}

// register makes a post known. The caller holds the lock.
func (h *hub) register(k key, p *post) (first bool) {
	p.key = k
	h.posts[k] = append(h.posts[k], p)
	h.count++
	return len(h.posts[k]) == 1
}

// remove ends posts. What has been put into their inboxes stays there.
func (h *hub) remove(posts ...*post) {
	h.ops.Lock()
	defer h.ops.Unlock()
	for _, p := range posts {
		if h.unregister(p) {
			h.source.remove(p.key)
		}
	}
}

// unregister reports whether the source watches the directory for nobody else.
func (h *hub) unregister(p *post) (last bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if p.dead {
		return false
	}
	rest := slices.DeleteFunc(h.posts[p.key], func(other *post) bool { return other == p })
	h.count--
	if len(rest) > 0 {
		h.posts[p.key] = rest
		return false
	}
	delete(h.posts, p.key)
	return true
}

// tell hands on what has happened in a directory.
func (h *hub) tell(k key, e event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, p := range h.posts[k] {
		if p.wants(e) {
			e.post = p
			p.in.put(e)
		}
	}
}

// wants tells whether an event is of interest.
func (p *post) wants(e event) bool {
	switch {
	case e.op == modified && p.what == entries:
		return false
	case p.only == "" || e.name == p.only:
		return true
	}
	return e.name == "" && e.op != modified
}

// end hands on that the source watches a directory no more.
func (h *hub) end(k key) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, p := range h.posts[k] {
		p.dead = true
		h.count--
		p.in.put(event{post: p, op: dead})
	}
	delete(h.posts, k)
}

// tellAll hands on what concerns all.
func (h *hub) tellAll(op op) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for in := range h.boxes {
		in.put(event{op: op})
	}
}

func errFull(most int) error {
	return protocol.Errorf(protocol.CodeInternal,
		"all watches of this executor together watch %d directories, as many as they may; end some, or exclude folders", most)
}

// errSystem says which bound of the system has been reached.
func errSystem(what, setting string, err error) error {
	return protocol.Errorf(protocol.CodeInternal,
		"the system allows no more %s (%v); end some watches, or raise %s", what, err, setting)
}

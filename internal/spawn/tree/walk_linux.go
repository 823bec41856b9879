package tree

import (
	"sync"
	"time"
)

// walk finds the members of a tree among all processes.
type walk struct {
	marks     *marks  // nil if there is no marker
	ledger    *ledger // nil if there is none
	registrar Registrar
	hunter    hunter
	reaper    bool // we have become the one of orphans

	mu   sync.Mutex
	live map[*walkPlace]struct{} // guarded by mu; nil once closed
}

func openWalk(config Config) (method, []string, error) {
	if _, err := scan(nil, func(process) {}); err != nil {
		return nil, nil, err
	}
	w := &walk{registrar: config.Registrar, live: make(map[*walkPlace]struct{})}
	var notes []string
	w.marks = openMarks()
	if w.marks == nil {
		notes = append(notes, "walk: nothing to mark processes with; "+
			"one that has left its session and group, and whose parent has died, is not found")
	}
	w.hunter.marker = w.marker()
	folder, err := MakeRuntimeFolder()
	if err == nil {
		w.ledger, err = newLedger(folder, w.marks.name())
	}
	if err == nil {
		w.registrar.Add(formatRecord(Walk, w.ledger.path))
	} else {
		notes = append(notes, "walk: if this program is killed, its processes may live on: "+err.Error())
	}
	// Marks that only those may read who may trace are hidden, on some systems,
	// when a process is not a descendant any more.
	if config.Subreaper && w.marks != nil && w.marks.marker.traced {
		w.reaper = becomeSubreaper()
	}
	return w, notes, nil
}

func (w *walk) marker() *marker {
	if w.marks == nil {
		return nil
	}
	return w.marks.marker
}

// place implements [method].
func (w *walk) place() (_ place, err error) {
	p := &walkPlace{owner: w}
	p.is.reaped = never
	if w.marks != nil {
		if p.is.mark, err = w.marks.take(); err != nil {
			return nil, err
		}
	}
	if w.ledger != nil {
		if p.line, err = w.ledger.take(); err != nil {
			w.marks.put(p.is.mark)
			return nil, err
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.live == nil {
		return nil, errClosed
	}
	w.live[p] = struct{}{}
	return p, nil
}

// sift implements [method].
func (w *walk) sift(trees []*Tree) []*Tree {
	const patience = killTime / 4
	quarries := make([]*quarry, len(trees))
	for i, t := range trees {
		quarries[i] = &quarry{target: t.place.(*walkPlace).target}
	}
	settle(w.marker(), quarries, time.Now().Add(patience))
	left := trees[:0]
	for i, t := range trees {
		if quarries[i].gone() && t.emptyBound() {
			t.Release()
		} else {
			left = append(left, t)
		}
	}
	clear(trees[len(left):])
	return left
}

// killAll implements [method].
func (w *walk) killAll(trees []*Tree) []*Tree {
	hunts := make([]*hunt, len(trees))
	for i, t := range trees {
		hunts[i] = w.hunter.join(t.place.(*walkPlace))
	}
	alive := trees[:0]
	for i, t := range trees {
		if hunts[i].wait() && t.killBound() {
			t.Release()
		} else {
			alive = append(alive, t)
		}
	}
	clear(trees[len(alive):])
	return alive
}

// subreaper implements [method].
func (w *walk) subreaper() bool { return w.reaper }

// close implements [method].
func (w *walk) close() error {
	w.mu.Lock()
	var hunts []*hunt
	for p := range w.live {
		hunts = append(hunts, w.hunter.join(p))
	}
	w.mu.Unlock()
	dead := true
	for _, h := range hunts {
		dead = h.wait() && dead
	}
	w.hunter.running.Wait()

	w.mu.Lock()
	live := w.live
	w.live = nil
	w.mu.Unlock()
	for p := range live {
		p.detach()
	}
	w.marks.close()
	if w.reaper {
		resignSubreaper()
	}
	if w.ledger == nil {
		return nil
	}
	record := formatRecord(Walk, w.ledger.path)
	if !dead {
		w.ledger.close()
		return errAlive
	}
	w.ledger.remove()
	w.ledger.close()
	w.registrar.Remove(record)
	return nil
}

package tree

import (
	"slices"
	"sync"
)

// siftEach asks each tree by itself.
func siftEach(trees []*Tree) []*Tree {
	return slices.DeleteFunc(trees, func(t *Tree) bool {
		empty := t.Empty()
		if empty {
			t.Release()
		}
		return empty
	})
}

// killers bounds the kills of killEach that are under way: each takes a
// descriptor while it waits.
const killers = 64

// killEach kills each tree by itself, some at a time.
func killEach(trees []*Tree) []*Tree {
	dead := make([]bool, len(trees))
	room := make(chan struct{}, killers)
	var all sync.WaitGroup
	for i, t := range trees {
		room <- struct{}{}
		all.Go(func() {
			if dead[i] = t.Kill(); dead[i] {
				t.Release()
			}
			<-room
		})
	}
	all.Wait()
	alive := trees[:0]
	for i, t := range trees {
		if !dead[i] {
			alive = append(alive, t)
		}
	}
	clear(trees[len(alive):])
	return alive
}

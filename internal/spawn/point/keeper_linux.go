package point

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/airlock-exec/airlock/internal/spawn/tree"
)

// Keeper holds the mount points that one program needs.
type Keeper struct {
	warn    func(what string, err error)
	list    *list
	stop    chan struct{}  // closed by Close
	closing sync.WaitGroup // goroutines that remove marks, or close them
	closers chan struct{}  // has one for each that closes some

	mu     sync.Mutex
	places map[string]*place // guarded by mu; by path
}

// place is where a mount point is needed, or somebody is about to find out.
type place struct {
	needed int // guarded by Keeper.mu; by how many

	mu    sync.Mutex // held while it is made and removed
	mark  *mark      // guarded by mu; nil if it is not there, or not ours
	state State      // guarded by mu; what is there if mark is not nil
}

// NewKeeper returns a Keeper. What there is to be removed should this program die
// is told to the registrar, which may be nil; see [Sweep]. Of what may stay behind
// warn is told.
func NewKeeper(registrar tree.Registrar, warn func(what string, err error)) *Keeper {
	if registrar == nil {
		registrar = nobody{}
	}
	return &Keeper{
		warn: warn, list: newList(registrar, warn), places: make(map[string]*place),
		stop: make(chan struct{}), closers: make(chan struct{}, maxClosers),
	}
}

type nobody struct{}

func (nobody) Add(string)    {}
func (nobody) Remove(string) {}

// Lock returns what is locked as long as this program may have mount points: none of
// them is removed on its behalf while another holds a copy of it. Whoever mounts
// something there has to, until that is gone. It is nil if nobody could find the
// mount points after this program's death anyway.
func (k *Keeper) Lock() *os.File {
	k.list.mu.Lock()
	defer k.list.mu.Unlock()
	k.list.open()
	return k.list.file
}

// Hold makes sure that there is something at each of these places, in this order,
// and that the mount points among that stay until release is called, which may be
// called again. It returns what there is at each of them.
func (k *Keeper) Hold(points []Point) (states []State, release func(), err error) {
	if len(points) == 0 {
		return nil, func() {}, nil
	}
	paths := make([]string, len(points))
	for i, p := range points {
		paths[i] = p.Path
	}
	k.list.add(paths)
	var absent []string
	states = make([]State, len(points))
	held := make([]*place, 0, len(points))
	release = sync.OnceFunc(func() {
		var leaving []leaving
		for i, at := range slices.Backward(held) { // the last may stand in the first
			leaving = append(leaving, k.release(at, paths[i]))
		}
		k.list.remove(paths[len(held):])
		if leaving = k.clear(leaving); len(leaving) > 0 {
			k.closing.Go(func() { k.clearLater(leaving) })
		}
	})
	for i, p := range points {
		at := k.at(p.Path)
		held = append(held, at)
		states[i], err = at.hold(p)
		if errors.Is(err, fs.ErrNotExist) && isBelow(p.Path, absent) {
			states[i], err = Absent, nil
		}
		if err != nil {
			release()
			return nil, nil, err
		}
		if states[i] == Absent {
			absent = append(absent, p.Path)
		}
	}
	return states, release, nil
}

func isBelow(path string, absent []string) bool {
	for _, a := range absent {
		if strings.HasPrefix(path, a+"/") {
			return true
		}
	}
	return false
}

// at returns a place, which is needed once more from now on.
func (k *Keeper) at(path string) *place {
	k.mu.Lock()
	defer k.mu.Unlock()
	p := k.places[path]
	if p == nil {
		p = &place{}
		k.places[path] = p
	}
	p.needed++
	return p
}

// hold makes sure that something is there.
func (p *place) hold(point Point) (State, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mark != nil && p.mark.isThere(point.Path) {
		return p.state, nil
	}
	if p.mark != nil { // somebody has removed it
		p.mark.close()
		p.mark = nil
	}
	m, state, err := hold(point)
	if err != nil {
		return Absent, err
	}
	p.mark, p.state = m, state
	return state, nil
}

// release gives up a place. It returns what is to be removed, if nobody needs it any
// more: should somebody do before it is, he finds it held, or gone.
func (k *Keeper) release(p *place, path string) leaving {
	p.mu.Lock()
	defer p.mu.Unlock()
	k.mu.Lock()
	defer k.mu.Unlock()
	l := leaving{path: path}
	if p.needed--; p.needed == 0 {
		l.mark, p.mark = p.mark, nil
		if k.places[path] == p {
			delete(k.places, path)
		}
	}
	return l
}

// Close gives up the list, and sweeps up once more after programs that are dead by
// now. Nothing may be held any more.
func (k *Keeper) Close() {
	close(k.stop)
	k.closing.Wait()
	k.list.close()
	SweepLeft()
}

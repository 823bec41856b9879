package tree

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A ledger is a file with a line for each living tree, by which another program
// can kill the trees when this one has died. It is mapped into memory, so that
// to write a line takes no system call. Its owner holds a lock on it.
type ledger struct {
	path string
	fd   int

	mu    sync.Mutex
	pages [][]byte       // guarded by mu; the mappings
	free  []*line        // guarded by mu
	beat  *atomic.Uint64 // see title.beat
}

// ledgerPrefix is what the names of ledgers begin with.
const ledgerPrefix = "walk-"

// pageBytes is by how much a ledger grows.
const pageBytes = 32 << 10

// title stands at the beginning of the first page.
type title struct {
	magic  [16]byte
	boot   [40]byte // which start of the system the ticks count from
	space  [40]byte // the namespace that process numbers are of
	marker [32]byte // the name of the marker
	// beat is some time at which the owner was alive, in ticks; it does not
	// come close to the last one.
	beat atomic.Uint64
}

// line is a tree in a ledger; see target.
type line struct {
	used   atomic.Uint32
	mark   atomic.Uint32
	leader atomic.Uint64 // 0 before the start
	from   atomic.Uint64
	to     atomic.Uint64
	reaped atomic.Uint64
}

func (l *line) target() target {
	return target{
		mark: l.mark.Load(), leader: int(l.leader.Load()),
		from: l.from.Load(), to: l.to.Load(), reaped: l.reaped.Load(),
	}
}

const (
	lineBytes  = int(unsafe.Sizeof(line{}))
	titleLines = (int(unsafe.Sizeof(title{})) + lineBytes - 1) / lineBytes // whose room the title takes
)

var magic = [16]byte([]byte("airlock trees 2\n"))

// newLedger makes a ledger in folder.
func newLedger(folder, marker string) (*ledger, error) {
	for range 10 {
		l := &ledger{path: filepath.Join(folder, ledgerPrefix+RandomName())}
		fd, err := unix.Open(l.path, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
		if err != nil {
			return nil, &os.PathError{Op: "open", Path: l.path, Err: err}
		}
		l.fd = fd
		if err = lockLedger(fd); err == nil {
			err = l.begin(marker)
		}
		if err == nil {
			return l, nil
		}
		l.remove()
		l.close()
		if err != errOwned && err != unix.ENOENT {
			return nil, &os.PathError{Op: "write", Path: l.path, Err: err}
		}
		// Somebody who removes what has been left behind was faster.
	}
	return nil, errOwned
}

// lockLedger takes the lock of an open ledger, unless somebody has it.
func lockLedger(fd int) error {
	err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
	if err == unix.EWOULDBLOCK {
		return errOwned
	}
	if err != nil {
		return err
	}
	var s unix.Stat_t
	if err := unix.Fstat(fd, &s); err != nil {
		return err
	}
	if s.Nlink == 0 {
		return unix.ENOENT // it has been removed since it was opened
	}
	return nil
}

// begin writes the title.
func (l *ledger) begin(marker string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.grow(); err != nil {
		return err
	}
	t := (*title)(unsafe.Pointer(&l.pages[0][0]))
	copy(t.boot[:], bootID())
	copy(t.space[:], pidNamespace())
	copy(t.marker[:], marker)
	t.beat.Store(ticks())
	t.magic = magic
	l.beat = &t.beat
	l.free = l.free[titleLines:]
	return nil
}

// grow adds a page of lines. The caller holds the lock.
func (l *ledger) grow() error {
	at := int64(len(l.pages)) * pageBytes
	// Written, not just made longer: there must be room for what is stored to
	// memory later.
	if _, err := unix.Pwrite(l.fd, make([]byte, pageBytes), at); err != nil {
		return err
	}
	page, err := unix.Mmap(l.fd, at, pageBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	l.pages = append(l.pages, page)
	for i := range pageBytes / lineBytes {
		l.free = append(l.free, lineAt(page, i))
	}
	return nil
}

func lineAt(page []byte, i int) *line { return (*line)(unsafe.Pointer(&page[i*lineBytes])) }

// take returns a free line.
func (l *ledger) take() (*line, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.free) == 0 {
		if err := l.grow(); err != nil {
			return nil, &os.PathError{Op: "write", Path: l.path, Err: err}
		}
	}
	free := l.free[len(l.free)-1]
	l.free = l.free[:len(l.free)-1]
	return free, nil
}

// put takes a line back.
func (l *ledger) put(free *line) {
	free.used.Store(0)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.free = append(l.free, free)
}

// write writes a line. Whoever reads it may see a part of it: a line that is not
// used says nothing, and a mark or a leader says enough.
func (l *ledger) write(to *line, is target) {
	to.mark.Store(is.mark)
	to.from.Store(is.from)
	to.to.Store(is.to)
	to.reaped.Store(is.reaped)
	to.leader.Store(uint64(is.leader))
	to.used.Store(1)
	l.beat.Store(ticks())
}

// remove removes the file.
func (l *ledger) remove() { _ = os.Remove(l.path) }

// close gives the ledger up; lines must not be used any more.
func (l *ledger) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, page := range l.pages {
		_ = unix.Munmap(page)
	}
	l.pages, l.free = nil, nil
	unix.Close(l.fd)
}

// readLedger returns what a ledger says: the name of the marker, and the trees.
// Leaders that had not been reaped have kept their numbers at least until the
// owner's last sign of life, and until the tick since.
func readLedger(content []byte, since uint64) (marker string, targets []target, err error) {
	if len(content) < pageBytes {
		return "", nil, nil // its owner has died while making it
	}
	aligned := make([]uint64, len(content)/8)
	b := unsafe.Slice((*byte)(unsafe.Pointer(&aligned[0])), 8*len(aligned))
	copy(b, content)
	t := (*title)(unsafe.Pointer(&b[0]))
	switch {
	case t.magic != magic:
		return "", nil, errors.New("it is not of this version")
	case text(t.boot[:]) != bootID():
		return "", nil, nil // nothing of it can be alive
	case text(t.space[:]) != pidNamespace():
		return "", nil, errors.New("its numbers are of another PID namespace")
	}
	since = max(since, t.beat.Load())
	first := titleLines
	for ; len(b) >= pageBytes; b = b[pageBytes:] {
		for i := first; i < pageBytes/lineBytes; i++ {
			if l := lineAt(b, i); l.used.Load() != 0 {
				found := l.target()
				if found.reaped == never {
					found.reaped = since
				}
				targets = append(targets, found)
			}
		}
		first = 0
	}
	return text(t.marker[:]), targets, nil
}

func text(b []byte) string {
	b, _, _ = bytes.Cut(b, []byte{0})
	return string(b)
}

// pidNamespace tells the namespace of our process numbers from others.
func pidNamespace() string {
	name, _ := os.Readlink("/proc/self/ns/pid")
	return name
}

// bootID tells one start of the system from others.
func bootID() string {
	b, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return string(bytes.TrimSpace(b))
}

package tree

import (
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sys/unix"
)

// marks are those of a marker that a keeper may give to its trees. They come in
// blocks, each of which one program at a time may use; which, they agree on by
// the names of sockets, which go with the program that has them.
type marks struct {
	marker *marker

	mu     sync.Mutex
	claims map[uint32]int // guarded by mu; descriptors by block
	free   []uint32       // guarded by mu; the one freed last comes last
}

// blocks is into how many blocks the marks of a marker are divided.
const blocks = 32

func (m *marker) blockSize() uint32          { return m.most / blocks }
func (m *marker) blockOf(mark uint32) uint32 { return (mark - 1) / m.blockSize() }

// claim makes a block ours if it is nobody's.
func (m *marker) claim(block uint32) (fd int, err error) {
	fd, err = unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	name := fmt.Sprintf("@airlock/marks/%s/%d", m.name, block)
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: name}); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

var errNoMarks = errors.New("all marks for trees of processes are in use")

// openMarks finds a marker and claims some of its marks. It returns nil if there
// are none.
func openMarks() *marks {
	ms := &marks{claims: map[uint32]int{}}
	ms.marker = openMarker(func(m *marker) bool {
		ms.marker = m
		return ms.extend() == nil
	})
	if ms.marker == nil {
		return nil
	}
	return ms
}

// extend claims another block, none of whose marks is in use: those of a
// program that has died may be. The caller holds the lock.
func (ms *marks) extend() error {
	m := ms.marker
	used := map[uint32]bool{}
	if _, err := scan(m, func(p process) {
		if p.mark > 0 {
			used[m.blockOf(p.mark)] = true
		}
	}); err != nil {
		return err
	}
	// Programs that begin at different ones seldom meet.
	var first [1]byte
	_, _ = unix.Getrandom(first[:], 0)
	for i := range uint32(blocks) {
		block := (uint32(first[0]) + i) % blocks
		if _, ours := ms.claims[block]; ours || used[block] {
			continue
		}
		fd, err := m.claim(block)
		if err == unix.EADDRINUSE {
			continue
		}
		if err != nil {
			return err
		}
		ms.claims[block] = fd
		for i := range m.blockSize() {
			ms.free = append(ms.free, block*m.blockSize()+1+i)
		}
		return nil
	}
	return errNoMarks
}

// take returns a mark that nothing carries.
func (ms *marks) take() (uint32, error) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	if len(ms.free) == 0 {
		if err := ms.extend(); err != nil {
			return 0, err
		}
	}
	mark := ms.free[0]
	ms.free = ms.free[1:]
	return mark, nil
}

// put takes back a mark that nothing carries any more. ms may be nil.
func (ms *marks) put(mark uint32) {
	if ms == nil {
		return
	}
	ms.mu.Lock()
	defer ms.mu.Unlock()
	ms.free = append(ms.free, mark)
}

// name returns the name of the marker. ms may be nil.
func (ms *marks) name() string {
	if ms == nil {
		return ""
	}
	return ms.marker.name
}

// close gives the claims up. ms may be nil.
func (ms *marks) close() {
	if ms == nil {
		return
	}
	ms.mu.Lock()
	defer ms.mu.Unlock()
	for block, fd := range ms.claims {
		unix.Close(fd)
		delete(ms.claims, block)
	}
	ms.free = nil
}

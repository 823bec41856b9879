package outlog

import (
	"errors"
	"io"
	"math"
	"os"
	"sync"
	"testing"
)

// everything is a bound that excludes nothing.
const everything = math.MaxUint64

// disk is where the files of a test are. They can be made to fail.
type disk struct {
	mu    sync.Mutex
	files []*fakeFile // that are open

	openFails, writeFails, readFails error
	short                            bool  // writes stop half way and don't say why
	room                             int64 // of all files, if not 0
	writes                           int
	failures                         []error // that were told
	// If not nil, these are called once, before a read or a write.
	onRead, onWrite func()
}

// spill returns a place for output on the disk.
func (d *disk) spill(perLog, total int64) *Spill {
	s := NewSpill("somewhere", perLog, total, func(err error) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.failures = append(d.failures, err)
	})
	s.open = func(string) (file, error) {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.openFails != nil {
			return nil, d.openFails
		}
		f := &fakeFile{disk: d}
		d.files = append(d.files, f)
		return f, nil
	}
	return s
}

// set changes how the disk behaves.
func (d *disk) set(change func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change()
}

// once calls what is to be called once.
func (d *disk) once(hook *func()) {
	d.mu.Lock()
	call := *hook
	*hook = nil
	d.mu.Unlock()
	if call != nil {
		call()
	}
}

// mend lets everything work again.
func (d *disk) mend() {
	d.set(func() { d.openFails, d.writeFails, d.readFails, d.short, d.room = nil, nil, nil, false, 0 })
}

// told returns how many failures were told.
func (d *disk) told() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.failures)
}

// used returns the size of all files. The caller holds the lock.
func (d *disk) used() int64 {
	var total int64
	for _, f := range d.files {
		total += int64(len(f.data))
	}
	return total
}

// fakeFile is a file in memory. Its fields are guarded by the lock of the disk.
type fakeFile struct {
	disk   *disk
	data   []byte
	closed bool
}

func (f *fakeFile) writeParts(parts [][]byte, at int64) error {
	d := f.disk
	d.once(&d.onWrite)
	d.mu.Lock()
	defer d.mu.Unlock()
	if f.closed {
		return os.ErrClosed
	}
	d.writes++
	size := 0
	for _, part := range parts {
		size += len(part)
	}
	var err error
	if grown := at + int64(size) - int64(len(f.data)); d.room > 0 && d.used()+max(grown, 0) > d.room {
		size -= int(d.used() + grown - d.room)
		err = &os.PathError{Op: "write", Path: "somewhere", Err: fullErrors[0]}
	}
	if d.short {
		size, err = size/2, io.ErrShortWrite
	}
	if d.writeFails != nil {
		size, err = size/2, d.writeFails
	}
	for _, part := range parts {
		part = part[:max(0, min(len(part), size))]
		size -= len(part)
		if end := at + int64(len(part)); len(part) > 0 && end > int64(len(f.data)) {
			f.data = append(f.data, make([]byte, end-int64(len(f.data)))...)
		}
		at += int64(copy(f.data[min(at, int64(len(f.data))):], part))
	}
	return err
}

func (f *fakeFile) ReadAt(p []byte, at int64) (int, error) {
	d := f.disk
	d.once(&d.onRead)
	d.mu.Lock()
	defer d.mu.Unlock()
	if f.closed {
		return 0, os.ErrClosed
	}
	if d.readFails != nil {
		return 0, d.readFails
	}
	n := copy(p, f.data[min(at, int64(len(f.data))):])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *fakeFile) Truncate(size int64) error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	f.data = f.data[:min(size, int64(len(f.data)))]
	return nil
}

func (f *fakeFile) Close() error {
	d := f.disk
	d.mu.Lock()
	defer d.mu.Unlock()
	f.closed = true
	for i, other := range d.files {
		if other == f {
			d.files = append(d.files[:i:i], d.files[i+1:]...)
			return nil
		}
	}
	return errors.New("closed twice")
}

// fill appends n chunks of some size, with numbers from the newest one on, and
// trims after each.
func fill(l *Log, n, size int) {
	for range n {
		seq := l.newest + 1
		l.Append(seq, Stream(seq%2), filled(seq, size))
		l.Trim(everything)
	}
}

// filled returns the content of a chunk.
func filled(seq uint64, size int) []byte {
	p := make([]byte, size)
	for i := range p {
		p[i] = byte(seq) + byte(i)
	}
	return p
}

// wantRun checks that all chunks from one number to another are there, as fill
// makes them, and that the gap before is told exactly.
func wantRun(t *testing.T, l *Log, from, to uint64, size int) {
	t.Helper()
	at := uint64(0)
	for next := from; next <= to; {
		result := l.Read(at, everything, nil)
		if at == 0 {
			wantGap(t, result.Gap, from, size)
		} else if result.Gap != nil {
			t.Fatalf("a gap after %d", at)
		}
		for _, c := range result.Chunks {
			if c.Seq != next || c.Stream != Stream(next%2) || string(c.Data) != string(filled(next, size)) {
				t.Fatalf("chunk %d of stream %d, %d bytes; want chunk %d", c.Seq, c.Stream, len(c.Data), next)
			}
			next++
		}
		if len(result.Chunks) == 0 || result.Stopped == (next > to) {
			t.Fatalf("%d chunks, up to %d, stopped %v; want chunks up to %d",
				len(result.Chunks), next-1, result.Stopped, to)
		}
		at = next - 1
	}
}

// wantGap checks a gap before a chunk that fill has made.
func wantGap(t *testing.T, gap *Gap, first uint64, size int) {
	t.Helper()
	if first == 1 {
		if gap != nil {
			t.Fatalf("gap %v, want none", *gap)
		}
		return
	}
	even := (first - 1) / 2
	want := Gap{FirstSeq: first}
	want.Dropped[0], want.Dropped[1] = even*uint64(size), (first-1-even)*uint64(size)
	if gap == nil || *gap != want {
		t.Fatalf("gap %v, want %v", gap, want)
	}
}

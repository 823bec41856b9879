package outlog

import (
	"errors"
	"fmt"
	"math"
	"os"
	"sync/atomic"
)

// Spill says where logs put what leaves their memory, and how much of it. All
// logs of an executor share one.
type Spill struct {
	dir    string
	perLog int64
	total  int64
	failed func(error)
	open   func(dir string) (file, error)

	used atomic.Int64 // bytes of all files
	// failing: failed has been told, and no file has got off the ground since.
	failing atomic.Bool
}

// NewSpill returns a place for spilled output in the files of a folder, or in
// the system's folder for temporary files if dir is empty. Each log has a file
// of at most perLog bytes; with none it returns nil, which spills nothing. All
// files together have at most total bytes; zero means no such bound.
//
// When spilling fails, failed is told why, and not again before it has worked.
func NewSpill(dir string, perLog, total int64, failed func(error)) *Spill {
	if perLog <= 0 {
		return nil
	}
	if dir == "" {
		dir = os.TempDir()
	}
	if total <= 0 {
		total = math.MaxInt64
	}
	return &Spill{dir: dir, perLog: perLog, total: total, failed: failed, open: openTemp}
}

// errTotal is a disk that is full because we say so.
var errTotal = errors.New("the files of all processes together are as large as they may be")

// reserve counts n more bytes of files, if there may be as many.
func (s *Spill) reserve(n int64) bool {
	for {
		used := s.used.Load()
		if n > s.total-used {
			return false
		}
		if s.used.CompareAndSwap(used, used+n) {
			return true
		}
	}
}

func (s *Spill) release(n int64) { s.used.Add(-n) }

// worked notes that a file can hold output.
func (s *Spill) worked() { s.failing.Store(false) }

// tell reports a failure, unless one has been reported.
func (s *Spill) tell(err error) {
	if s.failing.CompareAndSwap(false, true) && s.failed != nil {
		s.failed(fmt.Errorf("keep output in a temporary file in %s: %w", s.dir, err))
	}
}

// tell reports what happened to the file, if that is still to be done. The
// caller holds no lock.
func (l *Log) tell() {
	l.mu.Lock()
	fault := l.fault
	l.fault = nil
	l.mu.Unlock()
	if fault != nil {
		l.spill.tell(fault)
	}
}

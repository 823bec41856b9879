package main

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// Times of a [progress].
const (
	progressDelay    = time.Second            // before it is shown
	progressInterval = 200 * time.Millisecond // between one look and the next
)

// progress shows on a terminal how far a transfer has come, if it takes long.
type progress struct {
	w     io.Writer
	began time.Time
	stop  chan struct{}
	done  chan struct{}

	mu    sync.Mutex
	total int64 // 0: not known
	moved int64
	shown bool // a line that has to be erased
}

// startProgress begins to show progress, or does nothing if w is no terminal.
func startProgress(w io.Writer, quiet bool) *progress {
	p := &progress{w: w, began: time.Now(), stop: make(chan struct{}), done: make(chan struct{})}
	if quiet || !isTerminal(w) {
		close(p.done)
		return p
	}
	go p.run()
	return p
}

func (p *progress) run() {
	defer close(p.done)
	timer := time.NewTimer(progressDelay)
	defer timer.Stop()
	for {
		select {
		case <-p.stop:
			p.clear()
			return
		case <-timer.C:
			p.show()
			timer.Reset(progressInterval)
		}
	}
}

// expect notes how much there is to be moved, besides what has been noted.
func (p *progress) expect(bytes int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.total += bytes
}

// add notes what has been moved.
func (p *progress) add(bytes int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.moved += bytes
}

// Write writes to the terminal in place of the progress, which is shown again later.
func (p *progress) Write(data []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clearLocked()
	return p.w.Write(data)
}

func (p *progress) show() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shown = true
	fmt.Fprintf(p.w, "\r%s\x1b[K", progressText(p.moved, p.total, time.Since(p.began)))
}

// clear erases what is shown.
func (p *progress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clearLocked()
}

// clearLocked erases what is shown. The caller holds the lock.
func (p *progress) clearLocked() {
	if p.shown {
		p.shown = false
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}

// end ends it, and leaves nothing of it on the terminal.
func (p *progress) end() {
	close(p.stop)
	<-p.done
}

// progressText says how far a transfer has come in some time.
func progressText(moved, total int64, taken time.Duration) string {
	rate := float64(moved) / max(taken.Seconds(), 1e-3)
	speed := bytesText(uint64(rate)) + "B/s"
	if total <= 0 || moved > total {
		return fmt.Sprintf("%sB, %s", bytesText(uint64(moved)), speed)
	}
	text := fmt.Sprintf("%3d%%  %sB of %sB, %s", int(100*float64(moved)/float64(total)), bytesText(uint64(moved)), bytesText(uint64(total)), speed)
	if rate > 0 {
		left := time.Duration(float64(total-moved) / rate * float64(time.Second))
		text += fmt.Sprintf(", %v left", left.Round(time.Second))
	}
	return text
}

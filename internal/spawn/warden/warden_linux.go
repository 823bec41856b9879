package warden

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/airlock-exec/airlock/internal/helper"
	"github.com/airlock-exec/airlock/internal/helper/ledger"
)

// ErrClosed is what Start returns after Close.
var ErrClosed = errors.New("the warden has been closed")

// leftPatience is how long Close waits for a process that has something left to
// remove. What can be removed while the daemon lives it has removed by then.
const leftPatience = time.Second

// Warden keeps the ledger, and a warden process that knows it. Without Start
// there is only the ledger.
type Warden struct {
	config   Config
	stall    time.Duration // how long a process may take nothing: see life
	patience time.Duration // leftPatience

	closing chan struct{}  // closed by Close
	owned   sync.WaitGroup // the goroutine that supervises

	starting sync.Mutex // held by Start, around mu

	// mu is held while an entry is written to the pipe, which does not wait: so
	// the process hears of things in the order in which they happen.
	mu     sync.Mutex
	ledger ledger.Ledger // guarded by mu
	life   *life         // guarded by mu; nil if no process is there
	state  state         // guarded by mu
}

// state is how far a Warden has got. It only moves forward.
type state int

const (
	idle state = iota
	started
	closed
)

// New returns a Warden without a process. It has to be closed if Start is
// called.
func New(config Config) *Warden {
	config.setDefaults()
	return &Warden{
		config:   config,
		stall:    stallPatience,
		patience: leftPatience,
		closing:  make(chan struct{}),
	}
}

// Start starts the process and returns when it has been executed. From then on
// there is always one, until Close. Start does nothing when it has succeeded
// before. After an error that may pass it goes on trying in the background.
func (w *Warden) Start() error {
	w.starting.Lock()
	defer w.starting.Unlock()
	w.mu.Lock()
	state := w.state
	w.mu.Unlock()
	switch state {
	case started:
		return nil
	case closed:
		return ErrClosed
	case idle:
	}
	l, err := w.begin()
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, helper.ErrNoHelper) || errors.Is(err, ErrClosed) {
		return err
	}
	w.mu.Lock()
	w.state = started
	w.mu.Unlock()
	w.owned.Go(func() {
		var pace pace
		if l == nil {
			l = w.replace(&pace, firstDelay)
		}
		w.supervise(l)
	})
	return err
}

// begin forks a process and tells it the ledger.
func (w *Warden) begin() (*life, error) {
	path, argv, err := w.config.Command()
	if err != nil {
		return nil, err
	}
	l, err := fork(path, argv, w.stall)
	if err != nil {
		return nil, fmt.Errorf("starting the warden (%s): %w", path, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.state == closed {
		l.kill()
		l.await()
		l.release()
		return nil, ErrClosed
	}
	w.state = started
	w.life = l
	var all []byte
	for _, record := range w.ledger.Records() {
		all = ledger.AppendAdd(all, record)
	}
	l.tell(all)
	return l, nil
}

// supervise replaces the process whenever it has died.
func (w *Warden) supervise(l *life) {
	var pace pace
	for l != nil {
		how := l.await()
		w.mu.Lock()
		w.life = nil
		closed := w.state == closed
		w.mu.Unlock()
		l.release()
		if closed {
			if left := w.left(); left > 0 && how != success {
				w.config.Logger.Warn("the warden could not remove all that is left",
					slog.Int("records", left), slog.String("how", how))
			}
			return
		}
		delay := pace.next(time.Since(l.began))
		w.config.Logger.Warn("the warden has died, another takes its place",
			slog.Int("pid", l.pid), slog.String("how", how), slog.Duration("delay", delay))
		l = w.replace(&pace, delay)
	}
}

// replace starts another process after a delay, as often as it takes. It returns
// nil after Close.
func (w *Warden) replace(pace *pace, delay time.Duration) *life {
	for {
		select {
		case <-w.closing:
			return nil
		case <-time.After(delay):
		}
		l, err := w.begin()
		if err == nil {
			return l
		}
		if errors.Is(err, ErrClosed) {
			return nil
		}
		delay = pace.next(0)
		w.config.Logger.Warn("the warden can't be replaced: what processes leave behind stays if the daemon is killed",
			slog.Any("error", err), slog.Duration("retry_in", delay))
	}
}

// Add has the record's thing removed when the daemon is gone. It is best called
// before the thing is made. A record that is on the ledger already stays once.
func (w *Warden) Add(record string) {
	if !ledger.Fits(record) {
		w.config.Logger.Warn("the warden can't be told of this: it is empty or too long",
			slog.Int("length", len(record)), slog.String("begin", record[:min(len(record), 100)]))
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ledger.Add(record)
	if w.life != nil {
		w.life.tell(ledger.AppendAdd(nil, record))
	}
}

// Remove takes a record off the ledger. It is called after the thing has been
// removed.
func (w *Warden) Remove(record string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ledger.Remove(record) && w.life != nil {
		w.life.tell(ledger.AppendRemove(nil, record))
	}
}

// left returns how many records are on the ledger.
func (w *Warden) left() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ledger.Len()
}

// PID returns the id of the process, 0 while there is none.
func (w *Warden) PID() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.life == nil {
		return 0
	}
	return w.life.pid
}

// Close ends the process and waits until it is gone. It is for when everything
// has been removed: then there is nothing for the process to do, and it is
// killed. If something is left on the ledger it is given a second to remove it.
// Nothing is told any more from then on.
func (w *Warden) Close() {
	w.starting.Lock()
	defer w.starting.Unlock()
	w.mu.Lock()
	if w.state == closed {
		w.mu.Unlock()
		return
	}
	w.state = closed
	close(w.closing)
	l, left := w.life, w.ledger.Len()
	w.life = nil
	w.mu.Unlock()

	switch {
	case l != nil && left == 0:
		l.kill()
	case l != nil:
		late := time.AfterFunc(w.patience, l.kill)
		defer late.Stop()
		l.finish()
	case left > 0:
		w.config.Logger.Warn("no warden is there to remove what is left", slog.Int("records", left))
	}
	w.owned.Wait()
}

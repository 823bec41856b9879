package client

import "github.com/airlock-exec/airlock/protocol"

// follow is called before events are asked for: from now on they are kept. What
// came before is read.
func (b *inbox) follow() {
	if b.followed.Load() {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.followed.Load() {
		b.followed.Store(true)
		b.behind = true
	}
}

// adopt makes the inbox that of a process that is going to be started. It reports
// false if there is one already.
func (b *inbox) adopt() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.followed.Load() {
		return false
	}
	b.followed.Store(true)
	b.starting = true
	b.newest, b.over, b.asked = 0, false, 0 // of one before
	return true
}

// resumed notes that the session goes on over a new connection.
func (b *inbox) resumed() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.epoch++
	b.targeted = false
	b.behind = b.followed.Load() && !b.starting && !b.order.closed
	b.news.tell()
}

// started notes that the executor has the process, and whether its events may
// have begun before the connection that was used last.
func (b *inbox) started(result *protocol.StartResult, epoch uint64, late bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if result != nil && result.SandboxType != nil {
		b.sandbox = *result.SandboxType
	}
	if result != nil && result.Airlock != nil {
		b.limits, b.tier = result.Airlock.Limits, result.Airlock.SandboxTier
	}
	b.starting = false
	if late || b.epoch != epoch {
		b.behind, b.targeted = !b.order.closed, false
	} else {
		b.asked = b.epoch + 1
	}
	b.news.tell()
}

// end lets everything that waits fail, once what has come is taken.
func (b *inbox) end(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err == nil {
		b.err = err
	}
	b.news.tell()
}

// beginReading tells whether the caller is to read what is missing.
func (b *inbox) beginReading() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.behind || b.reading || b.err != nil || b.bytes >= 2*windowBytes {
		return false
	}
	b.reading = true
	return true
}

func (b *inbox) endReading() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reading = false
	b.news.tell()
}

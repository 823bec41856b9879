package warden

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// stallPatience is how long a process may take nothing from a full pipe.
const stallPatience = 5 * time.Second

// pieceBytes is how much of a queue is written at a time: a process that takes
// so much within the patience is a slow one, not a dead one.
const pieceBytes = 4096

// life is one warden process, from the fork until it has been reaped.
type life struct {
	pid   int
	pidfd *os.File // readable when the process has exited; nil on old kernels
	pipe  *os.File // our end
	began time.Time
	stall time.Duration

	flushers sync.WaitGroup // at most one

	mu        sync.Mutex
	queue     []byte // guarded by mu; what the pipe had no room for
	flushing  bool   // guarded by mu; somebody writes the queue
	finishing bool   // guarded by mu; the pipe shall be closed after the queue
	reaped    bool   // guarded by mu; the process id may belong to another since
}

// tell writes entries to the pipe as far as there is room, and has the rest
// written when there is. It does not wait.
func (l *life) tell(entries []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.finishing || l.reaped {
		return
	}
	if !l.flushing {
		entries = entries[l.writeLocked(entries):]
	}
	if len(entries) == 0 {
		return
	}
	l.queue = append(l.queue, entries...)
	if !l.flushing {
		l.flushing = true
		l.flushers.Go(l.flush)
	}
}

// writeLocked writes what there is room for. The caller holds the lock.
func (l *life) writeLocked(p []byte) (n int) {
	conn, err := l.pipe.SyscallConn()
	if err == nil {
		doubt := conn.Write(func(fd uintptr) bool {
			n, err = unix.Write(int(fd), p)
			for err == unix.EINTR {
				n, err = unix.Write(int(fd), p)
			}
			return true
		})
		err = errors.Join(err, doubt)
	}
	if err != nil {
		n = 0
		if !errors.Is(err, unix.EAGAIN) {
			l.killLocked() // it does not read any more: dead, or as good as
		}
	}
	return n
}

// flush writes the queue. If the process takes nothing for too long it is
// killed.
func (l *life) flush() {
	for {
		l.mu.Lock()
		queue := l.queue
		l.queue = nil
		if len(queue) == 0 {
			l.flushing = false
			_ = l.pipe.SetWriteDeadline(time.Time{}) // writeLocked would fail once it is over
			if l.finishing {
				l.pipe.Close()
			}
		}
		l.mu.Unlock()
		if len(queue) == 0 {
			return
		}
		for piece := range slices.Chunk(queue, pieceBytes) {
			_ = l.pipe.SetWriteDeadline(time.Now().Add(l.stall))
			if _, err := l.pipe.Write(piece); err != nil {
				l.kill() // the queue is lost, and its successor told all
				return
			}
		}
	}
}

// finish lets the process know that the daemon ends, when it has been told
// everything else.
func (l *life) finish() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.finishing = true
	if !l.flushing {
		l.pipe.Close()
	}
}

func (l *life) kill() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.killLocked()
}

// killLocked kills the process. It removes nothing then: that is for when the
// daemon is gone. The caller holds the lock.
func (l *life) killLocked() {
	if !l.reaped {
		_ = unix.Kill(l.pid, unix.SIGKILL)
	}
}

// success is how a warden ends that has removed all there was.
const success = "exit status 0"

// await waits for the exit, reaps the process, and says how it has ended.
func (l *life) await() string {
	if !l.awaitPidfd() {
		// In a thread. It stays a zombie, which keeps its id from others.
		err := unix.Waitid(unix.P_PID, l.pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		for err == unix.EINTR {
			err = unix.Waitid(unix.P_PID, l.pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reaped = true
	var status syscall.WaitStatus
	_, err := syscall.Wait4(l.pid, &status, 0, nil)
	for err == syscall.EINTR {
		_, err = syscall.Wait4(l.pid, &status, 0, nil)
	}
	switch {
	case err != nil:
		return "unknown" // somebody else has reaped it
	case status.Signaled():
		return status.Signal().String()
	}
	return "exit status " + strconv.Itoa(status.ExitStatus())
}

// awaitPidfd waits until the process has exited, if it can without a thread.
func (l *life) awaitPidfd() bool {
	if l.pidfd == nil {
		return false
	}
	conn, err := l.pidfd.SyscallConn()
	if err != nil {
		return false
	}
	return nil == conn.Read(func(fd uintptr) bool {
		n, _ := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
		return n > 0
	})
}

// release gives up what is left of a process that has been reaped.
func (l *life) release() {
	l.pipe.Close()
	if l.pidfd != nil {
		l.pidfd.Close()
	}
	l.flushers.Wait()
}

package point

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

// leaving is a place that somebody has given up.
type leaving struct {
	path string
	mark *mark // to be removed; nil if there is none, or others need it
}

// clear removes what is there, one after the other, and takes the places off the
// list. When it runs out of descriptors or memory it returns those that are left.
func (k *Keeper) clear(all []leaving) (left []leaving) {
	var paths []string
	var removed []*mark
	for i, l := range all {
		if l.mark != nil {
			err := l.mark.remove(l.path)
			if isShortage(err) {
				left = all[i:]
				break
			}
			if err != nil {
				k.warn("a mount point can't be removed: the next sandbox at the place will try again", err)
			}
			removed = append(removed, l.mark)
		}
		paths = append(paths, l.path)
	}
	k.list.remove(paths)
	k.close(removed)
	return left
}

func isShortage(err error) bool {
	return errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) || errors.Is(err, unix.ENOMEM)
}

// clearLater tries again and again, until the Keeper is closed. Who needs one of the
// places again meanwhile waits, or fails for the same reason.
func (k *Keeper) clearLater(left []leaving) {
	for pause := time.Millisecond; len(left) > 0; pause = min(2*pause, 100*time.Millisecond) {
		select {
		case <-k.stop:
			if left = k.clear(left); len(left) > 0 {
				k.warn("a mount point stays behind for want of descriptors or memory: the next executor removes it", nil)
			}
			return
		case <-time.After(pause):
			left = k.clear(left)
		}
	}
}

// maxClosers bounds how many goroutines close marks at the same time. With more to
// be closed than a disk takes their owners wait again.
const maxClosers = 16

// close closes marks, which usually nobody waits for: the system gives the room that
// a directory took back to the disk then, which can take longer than all else.
func (k *Keeper) close(removed []*mark) {
	if len(removed) == 0 {
		return
	}
	all := func() {
		for _, m := range removed {
			m.close()
		}
	}
	select {
	case k.closers <- struct{}{}:
		k.closing.Go(func() {
			all()
			<-k.closers
		})
	default:
		all()
	}
}

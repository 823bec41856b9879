package watch

import (
	"iter"
	"path/filepath"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
)

// notifications returns what a letter is to the client. The last one has the end.
func (l letter) notifications(id, root string) iter.Seq[*protocol.ChangedNotification] {
	return func(yield func(*protocol.ChangedNotification) bool) {
		rest := l.changes
		rescan := l.rescan
		for len(rest) > 0 || rescan || l.ended != "" {
			n := &protocol.ChangedNotification{WatchID: id, Changes: []protocol.PathChange{}, Rescan: rescan}
			some := rest[:min(len(rest), limits.WatchChanges)]
			rest, rescan = rest[len(some):], false
			for _, c := range some {
				uri, err := protocol.PathURIFromNative(filepath.Join(root, filepath.FromSlash(c.path)))
				if err != nil { // no client could speak of it
					continue
				}
				n.Changes = append(n.Changes, protocol.PathChange{Path: uri, Kind: c.kind})
			}
			last := len(rest) == 0
			if last && l.ended != "" {
				n.Ended = &l.ended
			}
			if !yield(n) || last {
				return
			}
		}
	}
}

package sandbox

import (
	"github.com/airlock-exec/airlock/internal/limits"
)

// located is an entry whose path has been followed.
type located struct {
	bound
	at *place
}

// outside are directories of the system that would lead out of a sandbox: the sockets
// of the Windows side of WSL, and a second view of the root there.
var outside = []string{"/run/WSL", "/mnt/wslg/distro"}

// decide makes the rules of a policy.
func (r *resolver) decide(entries []bound) error {
	all, err := r.locate(entries)
	if err != nil {
		return err
	}
	r.addAll(all)
	if all, err = r.dropSteered(all); err != nil {
		return err
	}
	if err := r.addMissing(all); err != nil {
		return err
	}
	if err := r.protect(); err != nil {
		return err
	}
	if err := r.expand(entries); err != nil {
		return err
	}
	return r.addOwn()
}

func (r *resolver) locate(entries []bound) ([]located, error) {
	var all []located
	for _, e := range entries {
		if e.path == "" {
			continue
		}
		at, err := locate(r.host, e.path)
		if err != nil {
			return nil, r.fault("%s can't be looked for: %v", e.origin, err)
		}
		all = append(all, located{e, at})
	}
	return all, nil
}

// addAll adds the rules about what is there.
func (r *resolver) addAll(all []located) {
	r.rules, r.links, r.granted = rules{}, nil, make(map[string]bool)
	for _, e := range all {
		if e.grade == writable {
			r.granted[e.path], r.granted[e.at.real] = true, true
		}
		if e.at.missing() {
			continue
		}
		r.rules.add(rule{
			path: e.at.real, grade: e.grade, origin: e.origin,
			directory: e.at.info.IsDir(), chosen: e.chosen && e.grade == writable, sockets: e.named && e.grade == writable,
		})
		if e.grade != denied {
			r.links = append(r.links, e.at.crossed...)
		}
	}
}

// dropSteered looks at the entries that lead through a symbolic link that a sandboxed
// command could point elsewhere. Read-only and denied paths can't be held then, which
// is an error. What may be written is left out unless it can be written anyway: an
// earlier command could have chosen it.
func (r *resolver) dropSteered(all []located) ([]located, error) {
	var kept, steered []located
	for _, e := range all {
		crossed, found := r.writableLink(e.at)
		switch {
		case !found:
			kept = append(kept, e)
		case e.grade == writable:
			steered = append(steered, e)
		default:
			return nil, r.crossing(e.grade, e.path, crossed)
		}
	}
	if len(steered) == 0 {
		return all, nil
	}
	r.addAll(kept)
	for _, e := range steered {
		if r.rules.grade(e.at.real) == writable {
			kept = append(kept, e)
		} else {
			r.warn("%s has no effect: it leads through a symbolic link that sandboxed commands can change", e.origin)
		}
	}
	r.addAll(kept)
	return kept, nil
}

func (r *resolver) crossing(g grade, path, crossed string) error {
	what := "read-only"
	if g == denied {
		what = "deny-read"
	}
	return r.fault("cannot enforce sandbox %s path %s because it crosses writable symlink %s", what, path, crossed)
}

// writableLink returns a link on the way to a place that the command may change.
func (r *resolver) writableLink(at *place) (string, bool) {
	for _, l := range at.crossed {
		if r.rules.grade(l.path) == writable {
			return l.path, true
		}
	}
	return "", false
}

// addMissing adds rules about what is not there, if the command could make it. What
// may be written is left out if it is not there.
func (r *resolver) addMissing(all []located) error {
	for _, e := range all {
		switch {
		case !e.at.missing():
		case e.grade == writable:
			r.warn("%s has no effect: it is not there", e.origin)
		default:
			r.addUnmade(e.at, e.grade, e.origin)
		}
	}
	return nil
}

// addUnmade keeps the command from making a path, which would have another grade than
// what the command makes there.
func (r *resolver) addUnmade(at *place, g grade, origin string) {
	if r.rules.grade(at.there) != writable {
		return
	}
	if at.shut || !at.info.IsDir() {
		// What the path goes through could be replaced, or opened.
		empty := at.info.Mode().IsRegular() && at.info.Size() == 0
		r.rules.add(rule{path: at.there, grade: g, origin: origin, directory: at.info.IsDir(), missing: empty})
		return
	}
	first := at.first()
	r.rules.add(rule{path: first, grade: g, origin: origin, missing: true, directory: isProtected(first)})
}

// addOwn adds the rules that do not come from the client.
func (r *resolver) addOwn() error {
	for _, path := range r.request.Readable {
		at, err := locate(r.host, path)
		if err != nil {
			return r.fault("%s can't be looked for: %v", path, err)
		}
		if g := r.rules.grade(at.real); !at.missing() && (g == 0 || g == denied) {
			r.rules.add(rule{path: at.real, grade: readable, origin: "needed by the executor", directory: at.info.IsDir()})
			r.links = append(r.links, at.crossed...)
		}
	}
	for _, path := range r.request.Guarded {
		at, err := locate(r.host, path)
		if err != nil {
			return r.fault("%s can't be looked for: %v", path, err)
		}
		if !at.missing() && r.rules.grade(at.real) == writable {
			r.rules.add(rule{path: at.real, grade: readable, origin: "the executor's own", directory: at.info.IsDir()})
		}
	}
	for _, path := range outside {
		at, err := locate(r.host, path)
		if err != nil {
			return r.fault("%s can't be looked for: %v", path, err)
		}
		if !at.missing() && r.rules.grade(at.real) != 0 {
			r.rules.add(rule{path: at.real, grade: denied, origin: "leads out of the sandbox", directory: at.info.IsDir()})
		}
	}
	if len(r.rules.byPath) > limits.SandboxMounts {
		return r.crowded()
	}
	return nil
}

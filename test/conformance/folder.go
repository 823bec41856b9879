package conformance

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// A case that works with files has a folder of its own on the server's host,
// below what the server says is the place for such things. It is made, looked
// into and removed by processes that the server starts: what is tested are other
// methods.

// makeFolder makes a folder, goes there and runs what is to be there first. The
// folder's name comes before anything can go wrong in it.
const makeFolder = `d=$(mktemp -d airlock-conformance-XXXXXXXX) && cd -P "./$d" && printf %s "$PWD" && exec /bin/sh -euc "$1" >&2`

// removeFolder removes a folder, whatever a case has made of its modes.
const removeFolder = `chmod -R u+rwX -- "$1" 2>/dev/null; exec rm -rf -- "$1"`

// prepareFolder makes the folder of a case: ${dir} is its URI, ${path} its path,
// neither with a symbolic link in it.
func (r *run) prepareFolder(ctx context.Context, script string) error {
	end, err := r.conns[mainConn].shell(ctx, "folder", r.server.tempDir, makeFolder, script)
	if err != nil {
		return fmt.Errorf("making a folder: %w", err)
	}
	if path, ok := end["stdout"].(string); ok {
		r.folder = path
		r.vars["path"], r.vars["dir"] = path, fileURI(path)
	}
	if r.folder == "" || end["exitCode"] != number("0") {
		return fmt.Errorf("making a folder in %s ended with %s", show(r.server.tempDir), show(end))
	}
	return nil
}

// removeFolder removes the folder of a case.
func (r *run) removeFolder(ctx context.Context) error {
	connection := r.conns[mainConn]
	if connection.over() {
		var err error
		if connection, err = r.target.connect(ctx); err != nil {
			return err
		}
		defer connection.cut()
		if _, err := connection.handshake(ctx, nil); err != nil {
			return err
		}
	}
	end, err := connection.shell(ctx, "remove", r.server.tempDir, removeFolder, r.folder)
	if err != nil {
		return err
	}
	if end["exitCode"] != number("0") {
		return fmt.Errorf("it ended with %s", show(end))
	}
	return nil
}

// shell runs a script in a folder, waits for its end, and returns what became of
// it, as [outcome] does.
func (c *conn) shell(ctx context.Context, process string, cwd any, script string, args ...string) (map[string]any, error) {
	argv := []any{"/bin/sh", "-c", script, "sh"}
	for _, arg := range args {
		argv = append(argv, arg)
	}
	params := startParams(process, argv)
	params["cwd"] = cwd
	c.started = append(c.started, process)
	reply, err := c.ask(ctx, "process/start", params)
	if err != nil {
		return nil, err
	}
	if _, ok := reply.tree["result"]; !ok {
		return nil, fmt.Errorf("process/start was answered %s", show(reply.tree))
	}
	if err := c.wait(ctx, "the end of "+process, func() bool { return whole(c.events[process]) }); err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.taken = time.Now()
	c.mu.Unlock()
	return outcome(c.eventsOf(process)), nil
}

// runShell runs a script in the folder of the case, and compares what it prints.
func (r *run) runShell(ctx context.Context, s *step) error {
	connection, err := r.connection(s)
	if err != nil {
		return err
	}
	script, err := r.text(s, "shell")
	if err != nil {
		return err
	}
	r.scripts++
	end, err := connection.shell(ctx, fmt.Sprintf("shell-%d", r.scripts), r.vars["dir"], script)
	if err != nil {
		return err
	}
	if _, complains := end["stderr"]; complains || end["exitCode"] != number("0") {
		return fmt.Errorf("the script ended with %s", show(end))
	}
	if pattern, ok := s.fields["expect"]; ok {
		printed, _ := end["stdout"].(string)
		r.verify(s, pattern, printed)
	}
	return nil
}

// unescaped are the bytes of a path that stand for themselves in its URI, next to
// letters and digits.
const unescaped = "/!$&'()*+,-.:;=@[]^_|~"

// fileURI returns the URI of a path.
func fileURI(path string) string {
	var uri strings.Builder
	uri.WriteString("file://")
	for _, b := range []byte(path) {
		switch {
		case b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z', b >= '0' && b <= '9', strings.IndexByte(unescaped, b) >= 0:
			uri.WriteByte(b)
		default:
			fmt.Fprintf(&uri, "%%%02X", b)
		}
	}
	return uri.String()
}

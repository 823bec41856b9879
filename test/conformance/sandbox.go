package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A sandbox is a large object of which a case means some lines. The generator
// $sandbox makes it of a list of those lines.

// sandboxKinds are the places of a policy that have names.
var sandboxKinds = []string{
	"root", "minimal", "current_working_directory", "project_roots", "tmpdir", "slash_tmp", "unknown",
}

// sandboxContext makes the member sandbox of a request. Each line is one of
//
//	[skip] read|write|deny|none KIND [SUBPATH]
//	[skip] read|write|deny|none URI
//	read|write|deny|none glob PATTERN
//	depth N            the depth to which globs are expanded
//	network enabled    it is restricted otherwise
//	cwd URI            nothing behind it: there is none
//	roots URI …        likewise
//
// Without a line of their own, the folder and the only root are dir; if that is
// nil there are none.
func sandboxContext(lines []any, dir any) (any, error) {
	files := map[string]any{"type": "restricted"}
	permissions := map[string]any{"type": "managed", "file_system": files, "network": "restricted"}
	tree := map[string]any{"permissions": permissions, "windowsSandboxLevel": "disabled"}
	if dir != nil {
		tree["cwd"], tree["workspaceRoots"] = dir, []any{dir}
	}
	entries := []any{}
	for _, line := range lines {
		text, _ := line.(string)
		word, rest, _ := strings.Cut(text, " ")
		switch word {
		case "depth":
			if _, err := strconv.Atoi(rest); err != nil {
				return nil, fmt.Errorf("$sandbox: depth must be a number, not %q", rest)
			}
			files["glob_scan_max_depth"] = number(rest)
		case "network":
			permissions["network"] = rest
		case "cwd":
			delete(tree, "cwd")
			if rest != "" {
				tree["cwd"] = rest
			}
		case "roots":
			roots := []any{}
			for root := range strings.FieldsSeq(rest) {
				roots = append(roots, root)
			}
			tree["workspaceRoots"] = roots
		default:
			entry, err := sandboxEntry(text)
			if err != nil {
				return nil, err
			}
			entries = append(entries, entry)
		}
	}
	files["entries"] = entries
	return tree, nil
}

// sandboxEntry makes one entry of a policy.
func sandboxEntry(line string) (any, error) {
	entry := map[string]any{}
	rest, skip := strings.CutPrefix(line, "skip ")
	if skip {
		entry["missing_path_behavior"] = "skip"
	}
	access, what, _ := strings.Cut(rest, " ")
	kind, more, hasMore := strings.Cut(what, " ")
	entry["access"] = access
	switch {
	case !slices.Contains([]string{"read", "write", "deny", "none"}, access) || what == "":
		return nil, fmt.Errorf("$sandbox: %q is no line of a policy", line)
	case kind == "glob" && hasMore:
		entry["path"] = map[string]any{"type": "glob_pattern", "pattern": more}
	case slices.Contains(sandboxKinds, kind):
		value := map[string]any{"kind": kind}
		if hasMore {
			value["subpath"] = more
		}
		entry["path"] = map[string]any{"type": "special", "value": value}
	case strings.HasPrefix(what, "file:") || strings.HasPrefix(what, "${"):
		entry["path"] = map[string]any{"type": "path", "path": what}
	default:
		return nil, fmt.Errorf("$sandbox: %q names neither a kind of place nor a URI", line)
	}
	return entry, nil
}

// confines finds out whether a server can confine a process on its host, and if
// not, why: it is asked to, with a policy of each kind of entry. Only what the
// server itself says counts, and not what kind of host it seems to be.
func (t *target) confines(ctx context.Context, limit time.Duration, about serverInfo) (why string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errLimit)
	defer cancel()
	c, err := t.connect(ctx)
	if err != nil {
		return "", err
	}
	defer c.cut()
	if _, err := c.handshake(ctx, nil); err != nil {
		return "", err
	}
	const process = "confined"
	params := startParams(process, []any{"/bin/sh", "-c", "exit 0"})
	place, _ := about.tempDir.(string)
	policy, err := sandboxContext([]any{"read root", "write " + place, "deny file:///etc/passwd"}, nil)
	if err != nil {
		return "", err
	}
	params["sandbox"] = policy
	if about.airlock {
		params["airlock"] = map[string]any{} // so that a failure to set it up is told
	}
	reply, err := c.ask(ctx, "process/start", params)
	if err != nil {
		return "", err
	}
	if refusal, refused := reply.tree["error"].(map[string]any); refused {
		return sandboxRefused(refusal)
	}
	exited, err := c.note(ctx, "process/exited", process)
	if err == nil {
		_, err = c.note(ctx, "process/closed", process)
	}
	if err != nil {
		return "", err
	}
	end, _ := exited.tree["params"].(map[string]any)
	return sandboxFailed(end, joined(c.eventsOf(process)), about.airlock)
}

// sandboxRefused reads why a confined process has not been started.
func sandboxRefused(refusal map[string]any) (string, error) {
	data, _ := refusal["data"].(map[string]any)
	if data["kind"] == "sandboxUnavailable" || data["kind"] == "sandboxPreparation" {
		return fmt.Sprint(refusal["message"]), nil
	}
	return "", fmt.Errorf("a confined process was answered %s", show(refusal))
}

// sandboxFailed reads from the end of a process that does nothing whether it has
// been confined. We say if not; the peer lets the process fail, with the reason as
// its output.
func sandboxFailed(end, output map[string]any, airlock bool) (string, error) {
	told, _ := end["airlock"].(map[string]any)
	failure, failed := told["setupError"].(map[string]any)
	switch {
	case failed:
		return fmt.Sprintf("%v: %v", failure["stage"], failure["message"]), nil
	case end["exitCode"] == number("0"):
		return "", nil
	case airlock:
		return "", errors.New("a confined process that does nothing ended with " + show(end) + " " + show(output))
	default:
		text, _ := output["stderr"].(string)
		return fmt.Sprintf("exit code %s: %s", show(end["exitCode"]), shorten(strings.TrimSpace(text))), nil
	}
}

// generateSandbox runs the generator.
func generateSandbox(expanded any, vars variables) (any, error) {
	lines, ok := expanded.([]any)
	if !ok {
		return nil, fmt.Errorf("$sandbox needs the lines of a policy, not %s", show(expanded))
	}
	return sandboxContext(lines, vars["dir"])
}

// checkSandbox looks for faults in the lines of a policy before anything is run.
func checkSandbox(argument any) error {
	_, err := generateSandbox(argument, nil)
	return err
}

package discover

import (
	"context"

	"github.com/airlock-exec/airlock/internal/sandbox"
	"github.com/airlock-exec/airlock/protocol"
)

// WorkMethod names [Work] between this program and its workers.
const WorkMethod = "discover"

// Task is what a worker is asked for in a confinement.
type Task struct {
	Sandbox *protocol.SandboxContext `json:"sandbox"`
	// Root is the folder to look into; without one it is about what is installed.
	Root *protocol.DiscoverRoot `json:"root"`
	// What follows is as in [Config]: a worker has no environment to find it in.
	CodexHome string `json:"codexHome"`
	UserHome  string `json:"userHome"`
	SystemDir string `json:"systemDir"`
}

// Confinement returns where the task has what it is to be carried out in.
func (t *Task) Confinement() **protocol.SandboxContext { return &t.Sandbox }

// Done is what a task has come to: what it asks for, and nothing else.
type Done struct {
	Root      *protocol.DiscoveredRoot             `json:"root"`
	Installed *protocol.DiscoverCapabilitiesResult `json:"installed"`
}

// Work carries out a task, in a worker that is confined already.
func Work(ctx context.Context, t *Task) (*Done, error) {
	d := New(Config{CodexHome: t.CodexHome, UserHome: t.UserHome, SystemDir: t.SystemDir})
	if t.Root != nil {
		root := scan(ctx, t.Root.ID, t.Root.Path, newBundle(newRoom()))
		return &Done{Root: &root}, context.Cause(ctx)
	}
	installed, err := d.installed(ctx)
	return &Done{Installed: installed}, err
}

// Confined carries out a method in the confinement that its parameters, a pointer,
// ask for, and appends the result in JSON.
type Confined interface {
	Append(ctx context.Context, dst []byte, method string, params any) ([]byte, error)
}

// confine has a task carried out. It returns nil, and no error, if nothing that the
// task does would be restricted: then it can be done here.
func (d *Discoverer) confine(ctx context.Context, t *Task) (*Done, error) {
	if !sandbox.Confines(t.Sandbox, sandbox.Read) {
		return nil, nil
	}
	if d.config.Confined == nil {
		return nil, protocol.Errorf(protocol.CodeInvalidRequest, "filesystem sandbox cannot be enforced on this executor: "+
			"it has no sandbox; ask for it without `sandbox`, or use an executor that has one")
	}
	t.CodexHome, t.UserHome, t.SystemDir = d.config.CodexHome, d.config.UserHome, d.config.SystemDir
	answer, err := d.config.Confined.Append(ctx, nil, WorkMethod, t)
	if err != nil {
		return nil, err
	}
	done, err := protocol.Decode[Done](answer)
	if err != nil {
		return nil, protocol.Errorf(protocol.CodeInternal, "failed to encode or decode fs sandbox helper message: %v", err)
	}
	if (done.Root == nil) == (t.Root != nil) || (done.Installed == nil) == (t.Root == nil) {
		return nil, protocol.Errorf(protocol.CodeInternal, "unexpected fs sandbox helper response: expected %s, got another", WorkMethod)
	}
	return &done, nil
}

// root looks into one folder.
func (d *Discoverer) root(ctx context.Context, root *protocol.DiscoverRoot, room *room) protocol.DiscoveredRoot {
	done, err := d.confine(ctx, &Task{Sandbox: root.Sandbox, Root: root})
	switch {
	case err != nil:
		return failedRoot(root.ID, root.Path, "failed to inspect capability root %s: %s", root.Path, wireText(err))
	case done == nil:
		return scan(ctx, root.ID, root.Path, newBundle(room))
	}
	encoded, err := protocol.Encode(done.Root)
	if err != nil || !room.takeBytes(int64(len(encoded))) {
		return failedRoot(root.ID, root.Path, "capability root %s is left out: the answer would be too large", root.Path)
	}
	// What a worker says is told as it is, but not of what it is about.
	done.Root.ID, done.Root.Path = root.ID, root.Path
	return *done.Root
}

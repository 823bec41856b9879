package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/alecthomas/kong"
	"github.com/go-json-experiment/json"

	"github.com/airlock-exec/airlock/internal/sandbox"
	"github.com/airlock-exec/airlock/protocol"
)

// sandboxExplainCommand is `airlock sandbox explain`.
type sandboxExplainCommand struct {
	Path []string `sep:"none" required:"" placeholder:"PATH" complete:"file" help:"Tell about this path. May be given more than once."`
	CWD  string   `name:"cwd" placeholder:"DIR" complete:"dir" help:"Suppose that the command runs in this directory (default this one)."`
	JSON bool     `name:"json" help:"Print a JSON object for each path, one a line."`
}

// Help is printed between the summary and the flags.
func (*sandboxExplainCommand) Help() string {
	return `Nothing is run. For each path standard output tells where it leads if there are links in it, whether a command may read and write there, and which entry of the policy decides, as it is on this host now. Permissions of files hold besides.

With --json a line has path and target; read and write, which are true or false; access, which is write, read, deny or, where no entry contains the path, none; decided, the path that the deciding entry is about; why, for people; network, which is off, on or managed; and warnings.

The exit status is 1 if a command under this policy would not be started.`
}

// Run tells about the paths.
func (c *sandboxExplainCommand) Run(group *sandboxCommand, kctx *kong.Context) error {
	request, err := c.request(&group.policyFlags)
	if err != nil {
		return err
	}
	for i, name := range c.Path {
		absolute, err := filepath.Abs(name)
		if err != nil {
			return fmt.Errorf("--path %s: %w", name, err)
		}
		verdict, err := sandbox.Explain(*request, sandbox.OS(), absolute)
		if err != nil {
			return err
		}
		e := explanationOf(absolute, verdict)
		if c.JSON {
			err = e.printJSON(kctx)
		} else {
			err = e.print(kctx, i == 0)
		}
		if err != nil {
			return fmt.Errorf("printing what there is to tell: %w", err)
		}
	}
	return nil
}

// request returns what the policy is asked for.
func (c *sandboxExplainCommand) request(policy *policyFlags) (*sandbox.Request, error) {
	dir, err := filepath.Abs(c.CWD)
	if err != nil {
		return nil, fmt.Errorf("--cwd %s: %w", c.CWD, err)
	}
	work, errWork := protocol.PathURIFromNative(dir)
	here, errHere := currentDirectory()
	if err := errors.Join(errWork, errHere); err != nil {
		return nil, err
	}
	asked, err := policy.sandbox(policyPlace{dir: &here, work: work})
	if err != nil {
		return nil, err
	}
	return &sandbox.Request{Context: asked, Dir: dir, Env: os.Environ()}, nil
}

// explanation is what there is to tell about a path.
type explanation struct {
	Path     string   `json:"path"`
	Target   string   `json:"target"`
	Read     bool     `json:"read"`
	Write    bool     `json:"write"`
	Access   string   `json:"access"`
	Decided  string   `json:"decided,omitzero"`
	Why      string   `json:"why"`
	Network  string   `json:"network"`
	Warnings []string `json:"warnings,omitempty"`
}

func explanationOf(path string, v *sandbox.Verdict) *explanation {
	e := &explanation{
		Path: path, Target: v.Path, Access: v.Access, Decided: v.Decided, Why: v.Why,
		Read: v.Access == "read" || v.Access == "write", Write: v.Access == "write",
		Warnings: v.Plan.Warnings,
	}
	switch v.Plan.Network {
	case sandbox.NetworkOpen:
		e.Network = "on"
	case sandbox.NetworkOff:
		e.Network = "off"
	case sandbox.NetworkManaged:
		e.Network = "managed"
	}
	return e
}

// accessTexts are for people what accesses are called.
var accessTexts = map[string]string{
	"write": "can be read and written",
	"read":  "can be read, not written",
	"deny":  "can be neither read nor written",
	"none":  "can't be reached",
}

func (e *explanation) print(kctx *kong.Context, first bool) error {
	for _, warning := range e.Warnings {
		if first { // they are about the policy
			fmt.Fprintf(kctx.Stderr, "airlock: warning: %s\n", printable(warning))
		}
	}
	leads := ""
	if e.Target != e.Path {
		leads = ", which leads to " + printable(e.Target) + ","
	}
	_, err := fmt.Fprintf(kctx.Stdout, "%s%s %s\n    %s\n", printable(e.Path), leads, accessTexts[e.Access], printable(e.Why))
	return err
}

func (e *explanation) printJSON(kctx *kong.Context) error {
	line, err := json.Marshal(e, json.Deterministic(true))
	if err != nil {
		return fmt.Errorf("encoding it: %w", err)
	}
	_, err = kctx.Stdout.Write(append(line, '\n'))
	return err
}

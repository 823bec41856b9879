package main

import (
	"fmt"
	"io"
	"os"

	"github.com/go-json-experiment/json"

	"github.com/airlock-exec/airlock/protocol"
)

// maxPolicyFile is how large a file with a policy may be.
const maxPolicyFile = 1 << 20

// readPolicy reads a policy from a file: a whole sandbox, or permissions alone, whose
// project roots are then the working directory.
func readPolicy(name string, work protocol.PathURI) (*protocol.SandboxContext, error) {
	text, err := readBounded(name)
	if err != nil {
		return nil, fmt.Errorf("reading the policy: %w", err)
	}
	var members struct {
		Permissions any `json:"permissions"`
	}
	if err := json.Unmarshal(text, &members); err != nil {
		return nil, fmt.Errorf("the policy in %s is no JSON object: %w", name, err)
	}
	if members.Permissions != nil {
		sandbox, err := protocol.Decode[protocol.SandboxContext](text)
		if err != nil {
			return nil, fmt.Errorf("the policy in %s: %w", name, err)
		}
		return &sandbox, nil
	}
	permissions, err := protocol.Decode[protocol.PermissionProfile](text)
	if err != nil {
		return nil, fmt.Errorf("the policy in %s: %w (expected a sandbox, with permissions in it, or permissions)", name, err)
	}
	return &protocol.SandboxContext{
		Permissions:         permissions,
		WorkspaceRoots:      []protocol.PathURI{work},
		WindowsSandboxLevel: protocol.WindowsSandboxDisabled,
	}, nil
}

// readBounded reads a file that is not too large.
func readBounded(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxPolicyFile+1))
	if err == nil && len(text) > maxPolicyFile {
		err = fmt.Errorf("%s has more than %d bytes", name, maxPolicyFile)
	}
	return text, err
}

//go:build !linux

package helper

import (
	"errors"
	"fmt"
)

var errNoWork = fmt.Errorf("the helper has nothing to do on this system, where neither "+
	"cgroups nor mounts are made for a process: %w", errors.ErrUnsupported)

func program() (string, error) { return "", errNoWork }

func runExec() int { return refuse(errNoWork.Error()) }

func runWarden() int { return refuse(errNoWork.Error()) }

func runSandbox() int { return refuse(errNoWork.Error()) }

func runStage() int { return refuse(errNoWork.Error()) }

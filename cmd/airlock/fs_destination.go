package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/airlock-exec/airlock/internal/transfer"
	"github.com/airlock-exec/airlock/protocol"
)

// Errors about where things go.
var (
	errNoDestination = &exitError{exitUsage, errors.New("the destination is missing: give what there is, and last where it goes")}
	errNoDirectory   = errors.New("it is no directory, which several things could go to")
)

// splitPaths splits paths into the sources and the destination, which is the last.
func splitPaths(paths []string) (sources []string, destination string, err error) {
	if len(paths) < 2 {
		return nil, "", errNoDestination
	}
	last := len(paths) - 1
	return paths[:last], paths[last], nil
}

// eachTo does something to each of several paths and where it goes: the last of the
// paths, or the same name in it if that is a directory.
func (h *host) eachTo(ctx context.Context, paths []string, do func(source remotePath, destination protocol.PathURI) error) error {
	sources, last, err := splitPaths(paths)
	if err != nil {
		return err
	}
	into, err := h.destination(ctx, last, len(sources) > 1)
	if err != nil {
		return err
	}
	return h.each(sources, func(source remotePath) error {
		destination, err := into(transfer.NameOf(source.uri))
		if err != nil {
			return err
		}
		return do(source, destination)
	})
}

// destination returns what tells where something of a name goes on the executor's
// host.
func (h *host) destination(ctx context.Context, text string, several bool) (func(name string) (protocol.PathURI, error), error) {
	path, err := h.path(text)
	if err != nil {
		return nil, err
	}
	info, err := h.Stat(ctx, path.uri)
	switch {
	case err == nil && info.IsDir():
		return func(name string) (protocol.PathURI, error) {
			if name == "" {
				return path.uri, nil // a root has none
			}
			return path.uri.Join(name)
		}, nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, err
	case several || endsAsDirectory(text):
		return nil, &pathError{text, errNoDirectory}
	}
	return func(string) (protocol.PathURI, error) { return path.uri, nil }, nil
}

// localDestination is [host.destination] for what goes to here.
func localDestination(text string, several bool) (func(name string) (string, error), error) {
	info, err := os.Stat(text)
	switch {
	case err == nil && info.IsDir():
		return func(name string) (string, error) {
			if !filepath.IsLocal(name) || strings.ContainsAny(name, `/\`) && filepath.Separator == '\\' {
				return "", &pathError{name, errors.New("that is no name that a file can have here")}
			}
			return filepath.Join(text, name), nil
		}, nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, err
	case several || strings.HasSuffix(text, "/") || strings.HasSuffix(text, string(filepath.Separator)):
		return nil, &pathError{text, errNoDirectory}
	}
	return func(string) (string, error) { return text, nil }, nil
}

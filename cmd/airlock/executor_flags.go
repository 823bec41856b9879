package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/airlock-exec/airlock/client"
	"github.com/airlock-exec/airlock/server"
)

// executorFlags say which executor is used.
type executorFlags struct {
	URL       string `placeholder:"URL" help:"Use the executor at this ws:// or wss:// URL. Without it there is one of its own, on this machine."`
	TokenFile string `placeholder:"PATH" complete:"file" help:"Present the token in this file to the executor at --url."`
}

// check refuses flags that make no sense.
func (f *executorFlags) check() error {
	switch {
	case f.TokenFile != "" && f.URL == "":
		return errors.New("--token-file needs --url")
	case f.URL != "":
		return checkURL(f.URL)
	}
	return nil
}

// connectFunc connects to an executor.
type connectFunc func(ctx context.Context) (client.Executor, error)

// connector returns what connects to the executor. To stop is to end what stands
// behind it; the connections are to be closed before.
func (f *executorFlags) connector(logger *slog.Logger, name string, notice *connectionNotice) (connect connectFunc, stop func()) {
	if f.URL != "" {
		return func(ctx context.Context) (client.Executor, error) {
			return f.dial(ctx, client.Options{Name: name, OnConnection: notice.changed})
		}, notice.stop
	}
	embedded := server.New(server.Config{Logger: logger, Version: airlockVersion()})
	return func(ctx context.Context) (client.Executor, error) {
		return client.Connect(ctx, embedded, client.Options{Name: name})
	}, embedded.Close
}

// dial connects to the executor at the URL.
func (f *executorFlags) dial(ctx context.Context, options client.Options) (client.Executor, error) {
	if f.TokenFile != "" {
		token, err := os.ReadFile(f.TokenFile)
		if err != nil {
			return nil, fmt.Errorf("reading the token: %w", err)
		}
		options.BearerToken = string(bytes.TrimSpace(token))
	}
	executor, err := client.Dial(ctx, f.URL, options)
	return executor, tokenHint(err, f.TokenFile)
}

// use connects to the executor for as long as do takes.
func (f *executorFlags) use(ctx context.Context, log *logFlags, stderr io.Writer, name string, do func(client.Executor) error) error {
	if err := f.check(); err != nil {
		return err
	}
	connect, stop := f.connector(log.logger(stderr), name, &connectionNotice{stderr: stderr})
	defer stop()
	executor, err := connect(ctx)
	if err != nil {
		return err
	}
	defer executor.Close()
	return do(executor)
}

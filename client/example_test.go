package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/airlock-exec/airlock/client"
	"github.com/airlock-exec/airlock/protocol"
	"github.com/airlock-exec/airlock/server"
)

// Runs a command in an executor inside the program and copies its output.
func ExampleConnect() {
	ctx := context.Background()
	local := server.New(server.Config{})
	defer local.Close()
	executor, err := client.Connect(ctx, local, client.Options{Name: "example"})
	if err != nil {
		log.Fatal(err)
	}
	defer executor.Close()

	cwd, err := protocol.PathURIFromNative("/")
	if err != nil {
		log.Fatal(err)
	}
	process, err := executor.Start(ctx, &protocol.StartParams{
		ProcessID: "hello",
		Argv:      []string{"sh", "-c", "echo hello; exit 3"},
		CWD:       cwd,
		Env:       map[string]string{"PATH": os.Getenv("PATH")},
	})
	if err != nil {
		log.Fatal(err)
	}
	for {
		event, err := process.Next(ctx)
		if errors.Is(err, io.EOF) {
			break // after the closed event
		}
		if err != nil {
			log.Fatal(err)
		}
		switch event.Kind {
		case client.Output:
			os.Stdout.Write(event.Data)
		case client.Exited:
			fmt.Println("exit code", event.ExitCode)
		case client.Closed:
		}
	}
	// Output:
	// hello
	// exit code 3
}

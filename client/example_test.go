package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net/http"
	"net/http/httptest"
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
		case client.Closed, client.Gap:
		}
	}
	// Output:
	// hello
	// exit code 3
}

// Runs a command as os/exec does, with its input and output as streams.
func ExampleProcess_Stdout() {
	ctx := context.Background()
	local := server.New(server.Config{})
	defer local.Close()
	executor, err := client.Connect(ctx, local, client.Options{Name: "example"})
	if err != nil {
		log.Fatal(err)
	}
	defer executor.Close()

	process, err := executor.Start(ctx, &protocol.StartParams{
		ProcessID: "sort",
		Argv:      []string{"sort"},
		CWD:       executor.Info().TempDir,
		Env:       map[string]string{"PATH": os.Getenv("PATH")},
		PipeStdin: true,
	})
	if err != nil {
		log.Fatal(err)
	}
	stdout := process.Stdout()
	stdin := process.Stdin(ctx)
	if _, err := io.WriteString(stdin, "pear\napple\n"); err != nil {
		log.Fatal(err)
	}
	if err := stdin.Close(); err != nil {
		log.Fatal(err)
	}
	if _, err := io.Copy(os.Stdout, stdout); err != nil {
		log.Fatal(err)
	}
	code, err := process.Wait(ctx) // drops what comes on standard error
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("exit code", code)
	// Output:
	// apple
	// pear
	// exit code 0
}

// Looks at a process of another program's session from its beginning, and on.
func ExampleProcess_Events() {
	ctx := context.Background()
	local := server.New(server.Config{})
	defer local.Close()
	first, err := client.Connect(ctx, local, client.Options{Name: "example"})
	if err != nil {
		log.Fatal(err)
	}
	defer first.Close()
	_, err = first.Start(ctx, &protocol.StartParams{
		ProcessID: "greet",
		Argv:      []string{"sh", "-c", "echo hello"},
		CWD:       first.Info().TempDir,
		Env:       map[string]string{"PATH": os.Getenv("PATH")},
	})
	if err != nil {
		log.Fatal(err)
	}

	second, err := client.Connect(ctx, local, client.Options{
		ResumeSessionID: first.SessionID(), Takeover: true,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer second.Close()
	for event, err := range second.Process("greet").Events(ctx, 0) {
		if err != nil {
			log.Fatal(err)
		}
		switch event.Kind {
		case client.Output:
			fmt.Printf("%d: %s", event.Seq, event.Data)
		case client.Gap:
			fmt.Printf("%d to %d: missing\n", event.FirstSeq, event.Seq)
		case client.Exited:
			fmt.Printf("%d: exit code %d\n", event.Seq, event.ExitCode)
		case client.Closed:
			fmt.Printf("%d: the end\n", event.Seq)
		}
	}
	// Output:
	// 1: hello
	// 2: exit code 0
	// 3: the end
}

// Reads and writes files of an executor, and hands a directory of it to what takes one
// of package io/fs.
func ExampleFiles() {
	ctx := context.Background()
	local := server.New(server.Config{})
	defer local.Close()
	executor, err := client.Connect(ctx, local, client.Options{Name: "example"})
	if err != nil {
		log.Fatal(err)
	}
	defer executor.Close()

	folder, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	root, err := protocol.PathURIFromNative(folder)
	if err != nil {
		log.Fatal(err)
	}
	files := executor.Files()
	path, err := root.Join("notes/hello.txt")
	if err != nil {
		log.Fatal(err)
	}
	if parent, ok := path.Parent(); ok {
		if err := files.MkdirAll(ctx, parent); err != nil {
			log.Fatal(err)
		}
	}
	if err := files.WriteFile(ctx, path, []byte("hello\n")); err != nil {
		log.Fatal(err)
	}
	err = fs.WalkDir(files.Dir(ctx, root), ".", func(name string, d fs.DirEntry, err error) error {
		fmt.Println(name, d.IsDir())
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := files.Open(ctx, root); err != nil {
		fmt.Println("a directory can't be opened")
	}
	// Output:
	// . true
	// notes true
	// notes/hello.txt false
	// a directory can't be opened
}

// Makes an HTTP request from the host of an executor.
func ExampleHTTP() {
	ctx := context.Background()
	local := server.New(server.Config{})
	defer local.Close()
	executor, err := client.Connect(ctx, local, client.Options{Name: "example"})
	if err != nil {
		log.Fatal(err)
	}
	defer executor.Close()
	origin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "hello from there")
	}))
	defer origin.Close()

	there := &http.Client{Transport: executor.HTTP()}
	response, err := there.Get(origin.URL)
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(response.Status, string(body))
	// Output: 200 OK hello from there
}

// Runs a command that can write in one folder and nowhere else, and has no network.
func ExampleExecutor_sandbox() {
	ctx := context.Background()
	executor, err := client.Dial(ctx, os.Getenv("AIRLOCK_URL"), client.Options{Name: "example"})
	if err != nil {
		log.Fatal(err)
	}
	defer executor.Close()

	workspace, err := protocol.PathURIFromNative("/srv/work")
	if err != nil {
		log.Fatal(err)
	}
	process, err := executor.Start(ctx, &protocol.StartParams{
		ProcessID: "test",
		Argv:      []string{"make", "test"},
		CWD:       workspace,
		Env:       map[string]string{"PATH": "/usr/bin:/bin"},
		Sandbox:   protocol.WorkspaceWriteSandbox(protocol.NetworkRestricted, workspace),
	})
	if err != nil {
		log.Fatal(err) // it is not run with less than was asked for
	}
	fmt.Println("confined by", process.SandboxTier())
	for {
		event, err := process.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			log.Fatal(err)
		}
		switch event.Kind {
		case client.Output:
			os.Stdout.Write(event.Data)
		case client.Exited:
			if event.SetupError != nil {
				fmt.Println("not run:", event.SetupError.Message)
			}
			for _, denied := range event.Denials {
				fmt.Println("denied:", denied.What, denied.Path, denied.Address)
			}
		case client.Closed, client.Gap:
		}
	}
}

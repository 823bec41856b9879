package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/airlock-exec/airlock/client"
	"github.com/airlock-exec/airlock/internal/transfer"
	"github.com/airlock-exec/airlock/protocol"
)

// httpCommand is `airlock http`.
type httpCommand struct {
	executorFlags

	Header     []string `short:"H" sep:"none" placeholder:"NAME:VALUE" help:"Send this header. May be given more than once."`
	EnvHeader  []string `sep:"none" placeholder:"NAME:VALUE" help:"Send a header that ends with a variable of the executor, which stays there. The variable is written as in Authorization: Bearer $$TOKEN."`
	Data       *string  `short:"d" placeholder:"DATA" help:"Send this as the body, or what the file holds whose name follows an @, or standard input with @-."`
	Output     string   `short:"o" placeholder:"PATH" complete:"file" help:"Write the body of the answer to this file, which is here, when all of it has come."`
	Include    bool     `short:"i" help:"Print the status and the headers of the answer before its body."`
	Fail       bool     `short:"f" help:"Print nothing and exit with status 22 if the status of the answer is 400 or more."`
	NoRedirect bool     `help:"Take an answer that sends elsewhere for the answer. By default up to ten of them are followed."`
	Timeout    duration `placeholder:"TIME" help:"Give up when the answer has not come whole after this time (default never)."`

	Request []string `arg:"" name:"[method] url" help:"The URL, and before it the method, which is GET by default, or POST with --data."`
}

// Help is printed between the summary and the flags.
func (*httpCommand) Help() string {
	return `The request is made by the executor: with its network, its proxies and its certificates. The body of the answer comes out as it is, as it comes. A body that is sent is sent as it is, and may have 11 MiB; its type is told only by a header of yours.

    airlock http https://example.com/
    airlock http --url ws://host:9000 PUT http://localhost:8080/x -d @file -H 'Content-Type: text/plain'
    airlock http --env-header 'Authorization: Bearer $TOKEN' https://api.example.com/

The exit status is 0 if there is an answer, whatever its status, and all of it has come; 22 with --fail if its status is 400 or more; 1 if there is none, or something is missing; 2 if the command line makes no sense.`
}

// httpName is how executors know us.
const httpName = "airlock-http"

// Bounds and exit statuses of a request.
const (
	// requestBytes is how much a body may have that is sent: it travels as a whole.
	requestBytes = 11 << 20
	// exitHTTPFailed is the exit status of --fail, as with curl.
	exitHTTPFailed = 22
	// firstFailure is the lowest status of an answer that tells of a failure.
	firstFailure = 400
)

// Run makes the request.
func (c *httpCommand) Run(kctx *kong.Context, log *logFlags) error {
	params, err := c.params(os.Stdin)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	ctx, stop := interruptible(context.Background())
	defer stop()
	err = c.use(ctx, log, kctx.Stderr, httpName, func(executor client.Executor) error {
		if len(c.EnvHeader) > 0 && !executor.Info().Capabilities.HTTPHeaderEnvVars {
			return fmt.Errorf("--env-header: this executor can't do that: %w", errors.ErrUnsupported)
		}
		return explain(executor.Info(), c.request(ctx, executor.HTTP(), params, kctx.Stdout))
	})
	return endedBy(ctx, err)
}

func (c *httpCommand) request(ctx context.Context, from *client.HTTP, params *protocol.HTTPRequestParams, stdout io.Writer) error {
	answer, body, err := from.Stream(ctx, *params)
	if err != nil {
		return err
	}
	defer body.Close()
	return c.print(stdout, answer, body)
}

// print prints an answer, or saves it.
func (c *httpCommand) print(stdout io.Writer, answer *protocol.HTTPRequestResult, body io.Reader) error {
	if c.Fail && answer.Status >= firstFailure {
		return &exitError{exitHTTPFailed, fmt.Errorf("the answer is %s", statusText(answer.Status))}
	}
	if c.Include {
		if err := writeHeaders(newOutput(stdout, isTerminal(stdout)), answer); err != nil {
			return err
		}
	}
	if c.Output != "" && c.Output != "-" {
		return transfer.Save(c.Output, func(w io.Writer) error {
			_, err := io.Copy(w, body)
			return err
		})
	}
	_, err := io.Copy(stdout, body)
	return err
}

// statusText shows a status as servers write it.
func statusText(status uint16) string {
	return strings.TrimSpace(fmt.Sprintf("%d %s", status, http.StatusText(int(status))))
}

// writeHeaders prints what stands before a body. The version of HTTP is not known.
func writeHeaders(out *output, answer *protocol.HTTPRequestResult) error {
	fmt.Fprintf(out, "HTTP %s\r\n", statusText(answer.Status))
	for _, header := range answer.Headers {
		fmt.Fprintf(out, "%s: %s\r\n", out.text(header.Name), out.text(header.Value))
	}
	if _, err := out.WriteString("\r\n"); err != nil {
		return err
	}
	return out.flush()
}

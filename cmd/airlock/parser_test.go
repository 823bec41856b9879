package main

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the files in testdata anew")

// golden compares a text with a file in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got); if that is right, run: go test ./cmd/airlock -update\n%s", path, diff)
	}
}

// parse parses a command line; help goes nowhere.
func parse(t *testing.T, args ...string) (*commandLine, *kong.Context, error) {
	t.Helper()
	var cli commandLine
	parser := newParser(&cli, t.Output(), t.Output())
	parser.Exit = func(int) {}
	ctx, err := parser.Parse(args)
	return &cli, ctx, err
}

func TestHelp(t *testing.T) {
	t.Setenv("COLUMNS", "200") // wide terminals make no difference
	for _, command := range []string{
		"", "serve", "run", "sandbox", "sandbox run", "sandbox explain", "ps", "attach", "kill", "top", "version", "completion", "conformance", "doctor", "help", "http",
		"fs", "fs ls", "fs cat", "fs put", "fs get", "fs cp", "fs mv", "fs rm", "fs mkdir", "fs stat", "fs find", "fs grep", "fs watch",
	} {
		t.Run(command, func(t *testing.T) {
			var cli commandLine
			var help bytes.Buffer
			parser := newParser(&cli, &help, t.Output())
			parser.Exit = func(int) { panic(t) }
			defer func() {
				if recover() != t {
					t.Error("help does not exit")
				}
				name := strings.ReplaceAll(command, " ", "-") + "-help.golden"
				golden(t, strings.TrimLeft(name, "-"), help.String())
			}()
			_, _ = parser.Parse(append(strings.Fields(command), "--help"))
		})
	}
}

// TestHelpSentences asserts that the help of every flag and argument begins with
// one sentence that stands alone: completions and --print-config show only that.
func TestHelpSentences(t *testing.T) {
	t.Parallel()
	var cli commandLine
	parser := newParser(&cli, t.Output(), t.Output())
	check := func(name, help string) {
		sentence := firstSentence(help)
		switch {
		case !strings.HasSuffix(help, "."):
			t.Errorf("help of %s: %q does not end with a full stop", name, help)
		case strings.ContainsAny(sentence, "\n'\\"):
			t.Errorf("help of %s: %q has characters that shells care about", name, sentence)
		case len(sentence) > 110:
			t.Errorf("help of %s: its first sentence is too long: %q", name, sentence)
		}
	}
	err := kong.Visit(parser.Model, func(visited kong.Visitable, next kong.Next) error {
		node, ok := visited.(*kong.Node)
		if app, isApp := visited.(*kong.Application); isApp {
			node, ok = app.Node, true
		}
		if !ok {
			return next(nil)
		}
		check(node.FullPath(), node.Help)
		for _, flag := range node.Flags {
			check(node.FullPath()+" --"+flag.Name, flag.Help)
		}
		for _, argument := range node.Positional {
			check(node.FullPath()+" "+argument.Name, argument.Help)
		}
		return next(nil)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestCompletionScripts(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"bash", "zsh", "fish"} {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			var cli commandLine
			var script bytes.Buffer
			ctx, err := newParser(&cli, &script, t.Output()).Parse([]string{"completion", shell})
			if err != nil {
				t.Fatal(err)
			}
			if err := ctx.Run(&cli.Log); err != nil {
				t.Fatal(err)
			}
			golden(t, "completion."+shell+".golden", script.String())
		})
	}
}

func TestReport(t *testing.T) {
	t.Parallel()
	_, _, usage := parse(t, "serve", "--nonsense")
	_, _, runUsage := parse(t, "run", "--nonsense")
	_, _, nestedUsage := parse(t, "fs", "ls", "--nonsense")
	_, _, groupUsage := parse(t, "fs", "nonsense")
	_, _, sandboxUsage := parse(t, "sandbox", "--nonsense")
	_, _, sandboxRunUsage := parse(t, "sandbox", "--net", "off", "-t")
	_, _, explainUsage := parse(t, "sandbox", "explain")
	_, _, value := parse(t, "serve", "--session-ttl=-1s")
	tests := []struct {
		name    string
		command string
		err     error
		status  int
		text    string
	}{
		{"success", "serve", nil, 0, ""},
		{"status", "run", statusError(7), 7, ""},
		{"failure of serve", "serve", errors.New("no luck"), 1, "Error: no luck\n"},
		{"failure", "ps", errors.New("no luck"), 1, "airlock: no luck\n"},
		{"failure of run", "run", &exitError{125, errors.New("no luck")}, 125, "airlock: no luck\n"},
		{"usage", "serve", usage, 2, "Error: unknown flag --nonsense\nRun \"airlock serve --help\" for more information.\n"},
		{"usage of run", "run", runUsage, 125, "airlock: unknown flag --nonsense\nRun \"airlock run --help\" for more information.\n"},
		{"usage of sandbox", "sandbox", sandboxUsage, 125, "airlock: unknown flag --nonsense\nRun \"airlock sandbox --help\" for more information.\n"},
		{"usage of sandbox run", "sandbox run", sandboxRunUsage, 125, "airlock: expected \"<command> ...\"\nRun \"airlock sandbox run --help\" for more information.\n"},
		{"usage of sandbox explain", "sandbox explain", explainUsage, 2, "airlock: missing flags: --path=PATH\nRun \"airlock sandbox explain --help\" for more information.\n"},
		{"usage of a nested command", "fs ls", nestedUsage, 2, "airlock: unknown flag --nonsense\nRun \"airlock fs ls --help\" for more information.\n"},
		{"usage of a group", "fs", groupUsage, 2, "airlock: unexpected argument nonsense\nRun \"airlock fs --help\" for more information.\n"},
		{"value", "serve", value, 2, "Error: invalid value '-1s' for '--session-ttl <TIME>': " +
			"expected a positive time such as 500ms, 80s or 2m30s\nRun \"airlock serve --help\" for more information.\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var stderr bytes.Buffer
			if status := report(&stderr, test.command, test.err); status != test.status {
				t.Errorf("status %d, want %d", status, test.status)
			}
			if diff := cmp.Diff(test.text, stderr.String()); diff != "" {
				t.Errorf("text differs (-want +got):\n%s", diff)
			}
		})
	}
}

// TestServeLine: serve is understood the same by the grammar that is all of it for
// serve, help and errors included.
func TestServeLine(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	for _, args := range [][]string{
		{"serve", "--help"},
		{"exec-server", "--help"},
		{"serve", "--nope"},
		{"serve", "more"},
		{"serve", "serve"},
		{"serve", "--session-ttl"},
		{"serve", "--log-level=nope"},
		{"--log-level=debug", "serve", "--session-ttl=3s"},
		{"serve", "--session-ttl=3s", "--log-level=debug"},
	} {
		var texts [2]string
		for i, cli := range []any{&commandLine{}, &serveLine{}} {
			var out bytes.Buffer
			parser := newParser(cli, &out, &out)
			parser.Exit = func(int) { panic(parser) }
			func() {
				defer func() { _ = recover() }() // help ends the program
				ctx, err := parser.Parse(args)
				if err != nil {
					out.WriteString(err.Error())
					return
				}
				out.WriteString(ctx.Command())
			}()
			texts[i] = out.String()
			switch c := cli.(type) {
			case *commandLine:
				texts[i] += c.Serve.SessionTTL.String() + c.Log.LogLevel
			case *serveLine:
				texts[i] += c.Serve.SessionTTL.String() + c.Log.LogLevel
			}
		}
		if diff := cmp.Diff(texts[0], texts[1]); diff != "" || texts[0] == "" {
			t.Errorf("%q: %s", args, diff)
		}
	}
}

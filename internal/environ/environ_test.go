package environ

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/airlock-exec/airlock/protocol"
)

// policy makes a policy that inherits something and filters nothing, then
// changes it.
func policy(inherit protocol.EnvInherit, change func(*protocol.EnvPolicy)) *protocol.EnvPolicy {
	p := &protocol.EnvPolicy{Inherit: inherit, IgnoreDefaultExcludes: true}
	if change != nil {
		change(p)
	}
	return p
}

func TestBuild(t *testing.T) {
	base := []string{
		"PATH=/bin", "HOME=/root", "lang=C", "OUTER=outer", "MY_API_KEY=k", "A_SECRET_X=s", "token=t",
		"CODEX_THREAD_ID=inherited", "CODEX_TOOL_CALL_ID=inherited", "OPENAI_IDENTITY_TOKEN_FILE=/x",
		"CODEX_EXEC_SERVER_EXIT_ON_STDIN_CLOSE=true", "EMPTY=", "EQUALS=a=b",
	}
	thread, err := protocol.ParseUUID("019d25f0-6728-7ce2-908f-c3c187323e5b")
	if err != nil {
		t.Fatal(err)
	}
	type env = map[string]string
	for _, test := range []struct {
		name   string
		params Params
		want   string // entries, joined by blanks
	}{
		{"exact", Params{Env: env{"B": "2", "A": "1"}}, "A=1 B=2"},
		{"nothing", Params{}, ""},
		{"odd names", Params{Env: env{"A=B": "c", "": "x"}}, "=x A=B=c"},
		{"none", Params{Policy: policy("none", nil), Env: env{"A": "1"}}, "A=1"},
		{
			"all",
			Params{Policy: policy("all", nil)},
			"A_SECRET_X=s CODEX_THREAD_ID=inherited EMPTY= EQUALS=a=b HOME=/root MY_API_KEY=k OUTER=outer PATH=/bin lang=C token=t",
		},
		{"core, whatever the case", Params{Policy: policy("core", nil)}, "HOME=/root PATH=/bin lang=C"},
		{
			"default excludes do not touch the overlay",
			Params{
				Policy: policy("all", func(p *protocol.EnvPolicy) { p.IgnoreDefaultExcludes = false }),
				Env:    env{"TOKEN": "overlay"},
			},
			"CODEX_THREAD_ID=inherited EMPTY= EQUALS=a=b HOME=/root OUTER=outer PATH=/bin TOKEN=overlay lang=C",
		},
		{
			"exclude, then set",
			Params{Policy: policy("core", func(p *protocol.EnvPolicy) {
				p.Exclude = []string{"p?th", "A", "[hH]*"}
				p.Set = env{"A": "set", "lang": "set"}
			})},
			"A=set HOME=/root lang=set",
		},
		{
			"include only applies to set, not to the overlay",
			Params{
				Policy: policy("all", func(p *protocol.EnvPolicy) {
					p.IncludeOnly = []string{"OUT*", "LANG", "A"}
					p.Set = env{"A": "set", "B": "set"}
				}),
				Env: env{"C": "overlay"},
			},
			"A=set C=overlay OUTER=outer lang=C",
		},
		{
			"include nothing",
			Params{Policy: policy("all", func(p *protocol.EnvPolicy) { p.IncludeOnly = []string{""} })},
			"",
		},
		{
			"withheld in any case",
			Params{Env: env{
				"openai_identity_token_file": "x", "OpenAI_Federation_Rule_Id": "x", "NODE_REPL_AUTH_TOKEN": "x",
				"CODEX_EXEC_SERVER_NOISE_AUTH_TOKEN": "x", "OPENAI_IDENTITY_TOKEN_SOURCE": "x",
				"OPENAI_SPIFFE_AUDIENCE": "x", "OPENAI_SPIFFE_ID": "x", "OPENAI_WORKLOAD_IDENTITY_CONTEXT": "x",
				"CODEX_EXEC_SERVER_EXIT_ON_STDIN_CLOSE": "x", "codex_exec_server_exit_on_stdin_close": "kept",
				"OPENAI_API_KEY": "kept",
			}},
			"OPENAI_API_KEY=kept codex_exec_server_exit_on_stdin_close=kept",
		},
		{
			"withheld from set",
			Params{Policy: policy("none", func(p *protocol.EnvPolicy) { p.Set = env{"Openai_Spiffe_Id": "x"} })},
			"",
		},
		{
			"no metadata",
			Params{Env: env{"CODEX_THREAD_ID": "kept", "CODEX_TOOL_CALL_ID": "stale"}},
			"CODEX_THREAD_ID=kept",
		},
		{
			"metadata",
			Params{
				Env:      env{"CODEX_THREAD_ID": "stale", "CODEX_TOOL_CALL_ID": "stale"},
				Metadata: &protocol.Metadata{ThreadID: &thread, ToolCallID: new("call-1")},
			},
			"CODEX_THREAD_ID=019d25f0-6728-7ce2-908f-c3c187323e5b CODEX_TOOL_CALL_ID=call-1",
		},
		{
			"metadata without members",
			Params{
				Env:      env{"CODEX_THREAD_ID": "stale", "CODEX_TOOL_CALL_ID": "stale", "Codex_Thread_Id": "kept"},
				Metadata: &protocol.Metadata{},
			},
			"Codex_Thread_Id=kept",
		},
		{"metadata, empty call", Params{Metadata: &protocol.Metadata{ToolCallID: new("")}}, "CODEX_TOOL_CALL_ID="},
		{"metadata, NUL in call", Params{Metadata: &protocol.Metadata{ToolCallID: new("a\x00b")}}, ""},
		{"terminal", Params{TTY: true, LoginShell: "/bin/zsh"}, "SHELL=/bin/zsh"},
		{"terminal, with a shell", Params{TTY: true, LoginShell: "/bin/zsh", Env: env{"SHELL": ""}}, "SHELL="},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, strings.Join(Build(base, test.params), " ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestBuildProperties: whatever is asked for, entries are sorted, names are
// there once, and what is withheld is not there.
func TestBuildProperties(t *testing.T) {
	names := rapid.SampledFrom([]string{
		"A", "B", "PATH", "MY_TOKEN", "openai_spiffe_id", "OPENAI_SPIFFE_ID", "CODEX_TOOL_CALL_ID",
		"CODEX_EXEC_SERVER_EXIT_ON_STDIN_CLOSE",
	})
	vars := rapid.MapOf(names, rapid.String())
	rapid.Check(t, func(t *rapid.T) {
		var base []string
		for name, value := range vars.Draw(t, "base") {
			base = append(base, name+"="+value)
		}
		entries := Build(base, Params{
			Env: vars.Draw(t, "env"),
			TTY: rapid.Bool().Draw(t, "tty"),
			Policy: rapid.Ptr(rapid.Just(protocol.EnvPolicy{
				Inherit: rapid.SampledFrom([]protocol.EnvInherit{"all", "core", "none"}).Draw(t, "inherit"),
				Set:     vars.Draw(t, "set"),
			}), true).Draw(t, "policy"),
		})
		var seen []string
		for _, entry := range entries {
			name, _, _ := strings.Cut(entry, "=")
			if withheld[strings.ToUpper(name)] || name == exitOnStdinClose || name == toolCallIDName {
				t.Fatalf("%s is there", name)
			}
			seen = append(seen, name)
		}
		if !slices.IsSorted(seen) || len(slices.Compact(slices.Clone(seen))) != len(seen) {
			t.Fatalf("names %v", seen)
		}
	})
}

func FuzzPattern(f *testing.F) {
	for _, seed := range [][2]string{
		{"*", ""},
		{"*KEY*", "my_key"},
		{"a?c", "ABC"},
		{"[A-Z]*", "[a-z]x"},
		{"a*b*c", "aXbXbc"},
		{"", ""},
		{"?", "é"},
		{"*a*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaa"},
		{"ſ", "S"},
		{"\xff", "\xfe"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, text, name string) {
		if len(text) > 100 || len(name) > 100 {
			return
		}
		// The same, by way of a regular expression over folded text.
		var expression strings.Builder
		for _, r := range fold(text) {
			switch r {
			case '*':
				expression.WriteString("(?s:.*)")
			case '?':
				expression.WriteString("(?s:.)")
			default:
				expression.WriteString(regexp.QuoteMeta(string(r)))
			}
		}
		want := regexp.MustCompile(`\A` + expression.String() + `\z`).MatchString(string(fold(name)))
		if got := matchAny(patterns([]string{text}), name); got != want {
			t.Errorf("pattern %q, name %q: %v, want %v", text, name, got, want)
		}
	})
}

// TestPatternTime: a pattern of many stars takes no more than a moment.
func TestPatternTime(t *testing.T) {
	text := strings.Repeat("*a", 5000) + "b"
	if matchAny(patterns([]string{text}), strings.Repeat("a", 10_000)) {
		t.Error("matched")
	}
}

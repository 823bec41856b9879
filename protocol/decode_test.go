package protocol

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

// fault returns the error of decoding raw as a T.
func fault[T any](raw string) error {
	_, err := Decode[T]([]byte(raw))
	return err
}

// start returns the parameters of a process/start with more members.
func start(members string) string {
	return `{"processId":"p","argv":["/x"],"cwd":"file:///tmp","env":{},"tty":false,` + members + `}`
}

// without returns the parameters of a process/start without a member.
func without(member string) string {
	all := []string{`"processId":"p"`, `"argv":["/x"]`, `"cwd":"file:///tmp"`, `"env":{}`, `"tty":false`}
	var rest []string
	for _, m := range all {
		if !strings.HasPrefix(m, `"`+member+`"`) {
			rest = append(rest, m)
		}
	}
	return "{" + strings.Join(rest, ",") + "}"
}

func write(chunk string) string { return `{"processId":"p","chunk":` + chunk + `,"writeId":"w"}` }

// TestDecodeFaults lists texts as the peer gives them, unless noted.
func TestDecodeFaults(t *testing.T) {
	t.Parallel()
	const (
		oneVariant    = ", expected `interrupt`"
		threeVariants = ", expected one of `core`, `all`, `none`"
	)
	long := strings.Repeat("x", 300)
	for _, test := range []struct {
		decode    func(string) error
		raw, want string
	}{
		// The parameters as a whole.
		{fault[InitializeParams], ``, "invalid type: null, expected struct InitializeParams"},
		{fault[InitializeParams], `null`, "invalid type: null, expected struct InitializeParams"},
		{fault[TerminateParams], `null`, "invalid type: null, expected struct TerminateParams"},
		{fault[TerminateParams], `7`, "invalid type: number, expected struct TerminateParams"},
		{fault[ReadParams], `true`, "invalid type: boolean `true`, expected struct ReadParams"},
		{fault[ReadParams], `false`, "invalid type: boolean `false`, expected struct ReadParams"},
		{fault[SignalParams], `"x"`, `invalid type: string "x", expected struct SignalParams`},
		{fault[StartParams], `1.5`, "invalid type: number, expected struct WireExecParams"},
		{fault[WriteParams], `["p"]`, "invalid type: sequence, expected struct WriteParams"}, // the peer takes it

		// Unit.
		{fault[Unit], `[]`, "invalid type: sequence, expected unit"},
		{fault[Unit], `"x"`, `invalid type: string "x", expected unit`},
		{fault[Unit], `{"a":1}`, "invalid type: map, expected unit"},
		{fault[Unit], `7`, "invalid type: number, expected unit"},
		{fault[Unit], `true`, "invalid type: boolean `true`, expected unit"},

		// Members that are missing.
		{fault[InitializeParams], `{}`, "missing field `clientName`"},
		{fault[InitializeParams], `{"clientname":"x"}`, "missing field `clientName`"},
		{fault[StartParams], `{}`, "missing field `processId`"},
		{fault[StartParams], without("argv"), "missing field `argv`"},
		{fault[StartParams], without("cwd"), "missing field `cwd`"},
		{fault[StartParams], without("env"), "missing field `env`"},
		{fault[StartParams], without("tty"), "missing field `tty`"},
		{fault[ReadParams], `{"a":1}`, "missing field `processId`"},
		{fault[WriteParams], `{"processId":"p"}`, "missing field `chunk`"},
		{fault[WriteParams], `{"processId":"p","chunk":""}`, "missing field `writeId`"},
		{fault[SignalParams], `{"processId":"p"}`, "missing field `signal`"},
		{fault[StartParams], start(`"envPolicy":{}`), "missing field `inherit`"},
		{fault[StartParams], start(`"envPolicy":{"inherit":"core"}`), "missing field `ignoreDefaultExcludes`"},
		{fault[StartParams], start(`"shellSnapshot":{}`), "missing field `scopeId`"},
		{fault[StartParams], start(`"shellSnapshot":{"scopeId":"x"}`), "missing field `shell`"},
		{fault[StartParams], start(`"shellSnapshot":{"scopeId":"x","shell":{"name":"x"}}`), "missing field `path`"},
		{fault[StartParams], start(`"networkProxy":{}`), "missing field `proxy`"},

		// Members of the wrong type.
		{fault[InitializeParams], `{"clientName":1}`, "invalid type: number, expected a string"},
		{fault[InitializeParams], `{"clientName":"x","resumeSessionId":1}`, "invalid type: number, expected a string"},
		{fault[TerminateParams], `{"zz":1,"processId":5}`, "invalid type: number, expected a string"},
		{fault[StartParams], start(`"argv":null`), "duplicate JSON object key `argv`"},
		{fault[StartParams], `{"processId":null}`, "invalid type: null, expected a string"},
		{fault[StartParams], `{"processId":{}}`, "invalid type: map, expected a string"},
		{fault[StartParams], `{"processId":[]}`, "invalid type: sequence, expected a string"},
		{fault[StartParams], `{"processId":true}`, "invalid type: boolean `true`, expected a string"},
		{fault[StartParams], `{"argv":null}`, "invalid type: null, expected a sequence"},
		{fault[StartParams], `{"argv":"x"}`, `invalid type: string "x", expected a sequence`},
		{fault[StartParams], `{"argv":{}}`, "invalid type: map, expected a sequence"},
		{fault[StartParams], `{"argv":["a",true]}`, "invalid type: boolean `true`, expected a string"},
		{fault[StartParams], `{"argv":[null]}`, "invalid type: null, expected a string"},
		{fault[StartParams], `{"cwd":3}`, "invalid type: number, expected a string"},
		{fault[StartParams], `{"cwd":null}`, "invalid type: null, expected a string"},
		{fault[StartParams], `{"env":null}`, "invalid type: null, expected a map"},
		{fault[StartParams], `{"env":[]}`, "invalid type: sequence, expected a map"},
		{fault[StartParams], `{"env":{"A":1}}`, "invalid type: number, expected a string"},
		{fault[StartParams], `{"env":{"A":null}}`, "invalid type: null, expected a string"},
		{fault[StartParams], `{"tty":null}`, "invalid type: null, expected a boolean"},
		{fault[StartParams], `{"tty":1}`, "invalid type: number, expected a boolean"},
		{fault[StartParams], `{"tty":"a\"b\n` + "`é" + `"}`, `invalid type: string "a\"b\n` + "`é" + `", expected a boolean`},
		{fault[StartParams], `{"arg0":1}`, "invalid type: number, expected a string"},
		{fault[StartParams], `{"pipeStdin":null}`, "invalid type: null, expected a boolean"},
		{fault[StartParams], `{"enforceManagedNetwork":null}`, "invalid type: null, expected a boolean"},
		{fault[StartParams], `{"envPolicy":1}`, "invalid type: number, expected struct ExecEnvPolicy"},
		{fault[StartParams], `{"envPolicy":{"ignoreDefaultExcludes":null}}`, "invalid type: null, expected a boolean"},
		{fault[StartParams], `{"metadata":1}`, "invalid type: number, expected struct ExecMetadata"},
		{fault[StartParams], `{"metadata":{"threadId":1}}`, "invalid type: number, expected a string"},
		{fault[StartParams], `{"metadata":{"toolCallId":1}}`, "invalid type: number, expected a string"},
		{fault[StartParams], `{"shellSnapshot":1}`, "invalid type: number, expected struct ShellSnapshotRequest"},
		{fault[StartParams], `{"shellSnapshot":{"shell":1}}`, "invalid type: number, expected struct ShellInfo"},
		{fault[StartParams], `{"sandbox":1}`, "invalid type: number, expected struct WireFileSystemSandboxContext"},
		{fault[StartParams], `{"sandbox":"x"}`, `invalid type: string "x", expected struct WireFileSystemSandboxContext`},
		{fault[StartParams], `{"sandbox":[]}`, "invalid type: sequence, expected struct WireFileSystemSandboxContext"},
		{fault[StartParams], `{"managedNetwork":1}`, "invalid type: number, expected struct ManagedNetworkSandboxContext"},
		{fault[StartParams], `{"managedNetwork":{"transparentTcp":null}}`, "invalid type: null, expected a boolean"},
		{fault[StartParams], `{"managedNetwork":{"loopbackPorts":null}}`, "invalid type: null, expected a sequence"},
		{fault[StartParams], `{"managedNetwork":{"allowUnixSockets":["x",1]}}`, "invalid type: number, expected a string"},
		{fault[StartParams], `{"networkProxy":1}`, "invalid type: number, expected struct RemoteNetworkProxyLaunchConfig"},
		{fault[StartParams], `{"networkProxy":{"proxy":null}}`, "invalid type: null, expected struct RemoteNetworkProxyConfig"},
		{fault[StartParams], `{"networkProxy":{"proxy":[]}}`, "invalid type: sequence, expected struct RemoteNetworkProxyConfig"},
		{fault[WriteParams], write(`[1,2]`), "invalid type: sequence, expected a string"},
		{fault[WriteParams], write(`null`), "invalid type: null, expected a string"},

		// Numbers.
		{fault[ReadParams], `{"afterSeq":-1}`, "invalid number"},
		{fault[ReadParams], `{"afterSeq":1.5}`, "invalid number"},
		{fault[ReadParams], `{"afterSeq":1.0}`, "invalid number"},
		{fault[ReadParams], `{"afterSeq":1e2}`, "invalid number"},
		{fault[ReadParams], `{"maxBytes":1e400}`, "invalid number"},
		{fault[ReadParams], `{"waitMs":18446744073709551616}`, "invalid number"},
		{fault[ReadParams], `{"waitMs":"x"}`, `invalid type: string "x", expected u64`},
		{fault[ReadParams], `{"waitMs":true}`, "invalid type: boolean `true`, expected u64"},
		{fault[ReadParams], `{"waitMs":[]}`, "invalid type: sequence, expected u64"},
		{fault[StartParams], `{"managedNetwork":{"loopbackPorts":[65536]}}`, "invalid number"},
		{fault[StartParams], `{"managedNetwork":{"loopbackPorts":["x"]}}`, `invalid type: string "x", expected u16`},
		{fault[StartParams], `{"networkProxy":{"proxy":{},"policyDecisionTimeoutMs":-1}}`, "invalid number"},
		{fault[ExitedNotification], `{"exitCode":2147483648}`, "invalid number"},
		{fault[ExitedNotification], `{"exitCode":null}`, "invalid type: null, expected i32"},

		// Enumerations.
		{fault[SignalParams], `{"signal":"kill"}`, "unknown variant `kill`" + oneVariant},
		{fault[SignalParams], `{"signal":""}`, "unknown variant ``" + oneVariant},
		{fault[SignalParams], `{"signal":1}`, "invalid type: number, expected string or map"},
		{fault[SignalParams], `{"signal":null}`, "invalid type: null, expected string or map"},
		{fault[SignalParams], `{"signal":[]}`, "invalid type: sequence, expected string or map"},
		{fault[SignalParams], `{"signal":{"interrupt":null}}`, "invalid type: map, expected string or map"}, // the peer takes it
		{fault[StartParams], `{"envPolicy":{"inherit":"some"}}`, "unknown variant `some`" + threeVariants},
		{fault[StartParams], `{"envPolicy":{"inherit":"Core"}}`, "unknown variant `Core`" + threeVariants},
		{fault[OutputNotification], `{"stream":"x"}`, "unknown variant `x`, expected one of `stdout`, `stderr`, `pty`"},
		{fault[WriteResult], `{"status":"x"}`, "unknown variant `x`, expected one of `accepted`, `unknownProcess`, `stdinClosed`, `starting`"},
		{fault[StartResult], `{"sandboxType":"x"}`, "unknown variant `x`, expected one of `none`, `macosSeatbelt`, `linuxSeccomp`, `windowsRestrictedToken`, `windowsMxc`"},
		{fault[OpenFileParams], `{"mode":"write"}`, "unknown variant `write`, expected `read` or `replace`"},
		{fault[SendSignalParams], `{"signal":"SIGTERM"}`, "`signal`: unknown variant `SIGTERM`, expected one of `HUP`, `INT`, `QUIT`, `KILL`, `USR1`, `USR2`, `TERM`, `CONT`, `STOP`, `WINCH`"},
		{fault[StartParams], `{"airlock":{"limits":{"memory":1}}}`, "`limits`: unknown field `memory`, expected one of `memoryBytes`, `cpuSeconds`, `processes`, `openFiles`, `fileBytes`"},
		{fault[ResizeParams], `{"rows":65536}`, "`rows`: invalid number"},
		{fault[StartParams], `{"airlock":{"stdin":"YQ"}}`, "`stdin`: Invalid padding"},
		{fault[StartParams], `{"airlock":{"terminalSize":{"rows":1,"cols":-1}}}`, "`terminalSize`: `cols`: invalid number"},
		{fault[StartParams], `{"airlock":{"limits":{"memoryBytes":"1"}}}`, "`limits`: `memoryBytes`: invalid type: string \"1\", expected u64"},
		{fault[ListParams], `{"usage":1}`, "`usage`: invalid type: number, expected a boolean"},
		{fault[ReadExtra], `{"droppedBytes":{"x":1}}`, "unknown variant `x`, expected one of `stdout`, `stderr`, `pty`"},

		// Texts with a form.
		{fault[StartParams], `{"cwd":"/tmp"}`, relative},
		{fault[StartParams], `{"cwd":"file:///tmp?x"}`, hasQuery},
		{fault[StartParams], `{"cwd":"http:\/\/x"}`, "unsupported path URI scheme `http`"},
		{fault[StartParams], `{"metadata":{"threadId":"abc"}}`, "invalid length: expected length 32 for simple format, found 3"},
		{fault[WriteParams], write(`"*==="`), "Invalid symbol 42, offset 0."},
		{fault[WriteParams], write(`"YQ"`), "Invalid padding"},
		{fault[WriteParams], write(`"YR=="`), "Invalid last symbol 82, offset 1."},

		// The first fault in the order of the text is the one reported.
		{fault[WriteParams], `{"chunk":"*===","processId":"u"}`, "Invalid symbol 42, offset 0."},
		{fault[WriteParams], `{"writeId":1,"chunk":"*==="}`, "invalid type: number, expected a string"},
		{fault[StartParams], `{"tty":1,"processId":5}`, "invalid type: number, expected a boolean"},
		{fault[StartParams], `{"argv":1,"tty":5}`, "invalid type: number, expected a sequence"},
		{fault[StartParams], `{"envPolicy":{"set":1,"inherit":"x"}}`, "invalid type: number, expected a map"},
		{fault[StartParams], `{"envPolicy":{},"processId":5}`, "missing field `inherit`"},

		// What is no JSON, which the peer refuses before it looks at parameters.
		{fault[TerminateParams], `{"processId":"a","processId":"b"}`, "duplicate JSON object key `processId`"},
		{fault[TerminateParams], `{"x":1,"x":2,"processId":5}`, "duplicate JSON object key `x`"},
		{fault[StartParams], `{"env":{"A":"","A":""}}`, "duplicate JSON object key `A`"},
		{fault[StartParams], `{"sandbox":{"a":{"b":1,"b":1}}}`, "duplicate JSON object key `b`"},

		// Long texts are cut.
		{fault[StartParams], `{"tty":"` + long + `"}`, `invalid type: string "` + long[:97] + `…", expected a boolean`},
		{fault[StartParams], `{"tty":"` + strings.Repeat("é", 100) + `"}`, `invalid type: string "` + strings.Repeat("é", 48) + `…", expected a boolean`},
		{fault[SignalParams], `{"signal":"` + long + `"}`, "unknown variant `" + long[:97] + "…`" + oneVariant},
		{fault[Capabilities], `{"` + long + `":1,"` + long + `":2}`, "duplicate JSON object key `" + long[:97] + "…`"},
	} {
		err := test.decode(test.raw)
		if err == nil {
			t.Errorf("%s: no error, want %q", test.raw, test.want)
			continue
		}
		if err.Error() != test.want {
			t.Errorf("%s: got %q, want %q", test.raw, err, test.want)
		}
		if e, ok := errors.AsType[*Error](err); !ok || e.Code != CodeInvalidParams {
			t.Errorf("%s: %#v is not of the right kind", test.raw, err)
		}
	}
}

func TestDecodeSyntax(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		decode func(string) error
		raw    string
	}{
		{fault[TerminateParams], `{"processId":"a"} x`},
		{fault[TerminateParams], `{"processId":"a",}`},
		{fault[TerminateParams], `{"processId":}`},
		{fault[TerminateParams], `{"processId":"a"`},
		{fault[TerminateParams], `{`},
		{fault[TerminateParams], `x`},
		{fault[TerminateParams], ` `},
		{fault[TerminateParams], `{"x":[1,],"processId":"a"}`},
		{fault[TerminateParams], `{"processId":"` + "\xff" + `"}`},
		{fault[TerminateParams], `{"processId":"\ud800"}`},
		{fault[StartParams], `{"tty":"` + "\xff" + `"}`},
		{fault[StartParams], `{"arg0":nul}`},
		{fault[StartParams], `{"env":{"A":"",}}`},
		{fault[StartParams], `{"env":{"A":""]}`},
		{fault[StartParams], `{"argv":[,]}`},
		{fault[StartParams], `{"argv":["a",]}`},
		{fault[StartParams], `{"sandbox":{"a":01}}`},
		{fault[ReadParams], `{"processId":"p","afterSeq":01}`},
		{fault[ReadParams], `{"processId":"p","afterSeq":+1}`},
		{fault[Unit], `{}}`},
	} {
		if err := test.decode(test.raw); err == nil || !strings.HasPrefix(err.Error(), "invalid JSON: ") {
			t.Errorf("%s: got %v", test.raw, err)
		}
	}
}

func TestDecodeAccepts(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{"", "null", "{}", " { } "} {
		if err := fault[Unit](raw); err != nil {
			t.Errorf("unit %q: %v", raw, err)
		}
	}
	for raw, want := range map[string]uint64{`-0`: 0, `0`: 0, `18446744073709551615`: 1<<64 - 1} {
		p, err := Decode[ReadParams]([]byte(`{"processId":"p","afterSeq":` + raw + `}`))
		if err != nil || *p.AfterSeq != want {
			t.Errorf("%s: got %+v (%v)", raw, p, err)
		}
	}
	p, err := Decode[ReadParams]([]byte(`{"junk":[{"a":1}],"processId":"\u00e9\n\ud83d\ude00","afterSeq":null,"\u0077aitMs":7}`))
	wait := uint64(7)
	if diff := cmp.Diff(ReadParams{ProcessID: "é\n😀", WaitMs: &wait}, p); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	if c, err := Decode[Capabilities]([]byte(`{"windowsMxc":true,"new":1}`)); err != nil || c != (Capabilities{WindowsMXC: true}) {
		t.Errorf("got %+v (%v)", c, err)
	}
}

// TestDecodeRaw checks that raw values are kept as they stand, apart from the
// text they came in.
func TestDecodeRaw(t *testing.T) {
	t.Parallel()
	raw := []byte(start(`"networkProxy":{"proxy":{"a": [1, {}]}}`))
	p, err := Decode[StartParams](raw)
	if err != nil {
		t.Fatal(err)
	}
	clear(raw)
	want := StartParams{
		ProcessID: "p", Argv: []string{"/x"}, CWD: PathURI{"file:///tmp"}, Env: map[string]string{},
		NetworkProxy: &NetworkProxy{Proxy: jsontext.Value(`{"a": [1, {}]}`)},
	}
	if diff := cmp.Diff(want, p, cmp.AllowUnexported(PathURI{})); diff != "" {
		t.Error(diff)
	}
	p, err = Decode[StartParams]([]byte(start(`"sandbox":null,"envPolicy":null,"networkProxy":null,"metadata":null`)))
	if err != nil || p.Sandbox != nil || p.EnvPolicy != nil || p.NetworkProxy != nil || p.Metadata != nil {
		t.Errorf("got %+v (%v)", p, err)
	}
}

// TestDecodeDeep goes to the limit of the JSON package, and past it.
func TestDecodeDeep(t *testing.T) {
	t.Parallel()
	nested := func(depth int) string {
		return start(`"networkProxy":{"proxy":{"a":` + strings.Repeat("[", depth) + strings.Repeat("]", depth) + `}}`)
	}
	if err := fault[StartParams](nested(9_000)); err != nil {
		t.Error(err)
	}
	if err := fault[StartParams](nested(1_000_000)); err == nil || !strings.Contains(err.Error(), "depth") {
		t.Errorf("no error about the depth, but %v", err)
	}
	if err := fault[StartParams](`{"env":` + strings.Repeat(`{"a":`, 100_000)); err == nil {
		t.Error("no error")
	}
}

// halves is a type that decodes itself, as those of other packages may.
type halves struct{ whole int }

func (h *halves) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	err := json.UnmarshalDecode(dec, &h.whole)
	if err == nil && h.whole%2 != 0 {
		err = errors.New("an odd number")
	}
	return err
}

func TestDecodeCustom(t *testing.T) {
	t.Parallel()
	type params struct {
		H []halves `json:"h"`
	}
	if p, err := Decode[params]([]byte(`{"h":[2,4]}`)); err != nil || p.H[1].whole != 4 {
		t.Errorf("got %+v (%v)", p, err)
	}
	for raw, want := range map[string]string{
		`{"h":[2,3]}`:    "an odd number",
		`{"h":["x"]}`:    "invalid type: string",
		`{"h":[2],"h":1`: "duplicate JSON object key `h`",
	} {
		if err := fault[params](raw); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %q", raw, err, want)
		}
	}
}

// TestDecodeUnsupported checks that a type that can't be decoded shows at its
// first use, rather than being decoded in part.
func TestDecodeUnsupported(t *testing.T) {
	t.Parallel()
	type embedded struct{ TerminateParams }
	type unnamed struct{ A string }
	type function struct {
		F func() `json:"f"`
	}
	for name, use := range map[string]func(){
		"embedded": func() { fault[embedded](`{}`) },
		"unnamed":  func() { fault[unnamed](`{}`) },
		"function": func() { fault[function](`{"f":1}`) },
		"any":      func() { fault[any](`{}`) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			use()
		}()
	}
}
